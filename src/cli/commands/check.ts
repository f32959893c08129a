// gatehouse check: prints what is wrong with resource files, a line each, and exits with 1 if anything is; with --strict
// also if something is hardly meant, or may be meant otherwise.

import type { Metadata, ProviderState, Resources } from '../../control/schema/kinds/resources.js'
import { NOTHING_SERVED } from '../../control/sources/files/file-provider.js'
import type { LoadedState } from '../../control/sources/files/load-resources.js'
import type { RemoteTarget, WantedDocument } from '../../model/remote-target.js'
import {
  type Condition,
  inOneLine,
  isBad,
  isFact,
  isPartial,
  isWarningLine,
  placeOf,
  remarksOf,
  type ResourceStatus,
} from '../../model/status.js'
import type { Settings } from '../../ops/settings/settings.js'
import {
  type CheckFinding,
  findingLine,
  findingOfProblem,
  type FindingPlace,
  resourceName,
} from './check-finding.js'
import { checkWarnings } from './check-warnings.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { fetchRemote } from './fetch-remote.js'
import { type Offline, translateOffline } from './offline.js'

/** Runs `gatehouse check`. */
export async function check(settings: Settings, io: CommandIo): Promise<ExitCode> {
  const translated = await translateOffline(
    settings,
    settings.fetch ? (wanted) => fetchRemote(wanted, settings, io.stop) : undefined,
  )
  const report = reportCheck(translated, settings)
  io.out(report.text)
  return report.isGood ? 0 : 1
}

/** The result of `gatehouse check`. */
export interface CheckReport {
  readonly isGood: boolean
  readonly text: string
}

/** Returns what is wrong with the resources, a line each. */
export function reportCheck(
  { provider, translation, wantedBy, isMesh, isFetched = false }: Offline,
  { apiGroup, strict }: Pick<Settings, 'apiGroup' | 'strict'>,
): CheckReport {
  const { resources, positions, problems, notes = [] } = provider
  const placed = placesOf(resources, positions)
  const documents: DocumentsChecked = {
    wanted: translation.wanted,
    wantedBy,
    placeOf: ({ kind, metadata }) => placed({ kind, ...metadata }),
  }
  const ofConditions = translation.statuses.flatMap((status) =>
    findingsOf(status, placed(status), isFetched),
  )
  const wrong = ofConditions.filter(({ level }) => level === 'error')
  // A policy that cannot be read leaves its routes open here alone.
  const hardlyMeant = problems.length > 0 ? [] : checkWarnings(resources, translation)
  const warnings = [
    ...hardlyMeant.map(({ sentence, ...about }): CheckFinding => ({
      level: 'warning',
      ...placed(about),
      sentence,
    })),
    ...ofConditions.filter(({ level }) => level === 'warning'),
  ]
  const remarks = [
    ...notes.map((note) => findingOfProblem('note', note)),
    ...ofConditions.filter(({ level }) => level === 'note'),
    ...(isMesh === true
      ? []
      : idleNotes(resources, apiGroup).map(({ sentence, ...about }): CheckFinding => ({
          level: 'note',
          ...placed(about),
          sentence,
        }))),
    ...plainNotes(documents),
  ]
  const faults = problems.length + wrong.length + (strict ? warnings.length + remarks.length : 0)
  const findings = [
    ...problems.map((problem) => findingOfProblem('error', problem)),
    ...wrong,
    ...warnings,
    ...remarks,
  ]
  const unchecked = isFetched ? [] : uncheckedFindings(resources.proxyPolicies, documents)
  const lines = [
    ...[...findings, ...unchecked].map(findingLine),
    summary(provider, wrong.length, warnings.length, strict ? remarks.length : 0),
  ]
  return { isGood: faults === 0, text: `${lines.join('\n')}\n` }
}

function findingsOf(
  status: ResourceStatus,
  place: FindingPlace,
  isFetched: boolean,
): readonly CheckFinding[] {
  const conditions = isFetched ? status.conditions : status.conditions.filter(isCheckedOffline)
  return conditions.flatMap((condition) => {
    const isWrong = isBad(condition) || isPartial(condition)
    const lines = (isWrong ? condition.message.split('\n') : remarksOf(condition)).filter(isNews)
    const unsafe = isWrong ? [] : lines.filter(isWarningLine)
    const others = lines.filter((line) => !unsafe.includes(line))
    return [
      ...unsafe.map((sentence): CheckFinding => ({ ...place, level: 'warning', sentence })),
      ...(others.length === 0
        ? []
        : [
            {
              ...place,
              level: isWrong ? ('error' as const) : ('note' as const),
              sentence: `${headOf(condition)}: ${inOneLine(others.join('\n'))}`,
            },
          ]),
    ]
  })
}

/** Whether the condition means anything offline, where no key set is ever fetched. */
const isCheckedOffline = ({ reason }: Condition): boolean => reason !== 'KeySetUnavailable'

/** Whether a line is worth printing: no fact, and not that something has not been fetched, which is obvious offline. */
const isNews = (line: string): boolean =>
  !line.endsWith('has not been fetched yet') && !isFact(line)

function headOf(condition: Condition): string {
  const { type, status, reason } = condition
  const place = placeOf(condition)
  return `${type}=${status} (${reason})${place === '' ? '' : ` on ${place}`}`
}

type About = Pick<ResourceStatus, 'kind' | 'namespace' | 'name'>

/** Returns a function that says where a resource is. */
function placesOf(
  resources: Resources,
  positions: LoadedState['positions'],
): (about: About) => FindingPlace {
  const all = Object.values(resources as unknown as Record<string, Resources['secrets']>).flat()
  const byName = new Map(
    all.map((one) => [resourceName(one.kind, one.metadata), positions.get(one) ?? one.source]),
  )
  return ({ kind, ...name }) => {
    const resource = resourceName(kind, name)
    return { place: byName.get(resource) ?? kind, resource }
  }
}

/** Returns the last line. remarks: how many count as faults. */
function summary(
  { resources, problems }: ProviderState,
  wrong: number,
  warnings: number,
  remarks: number,
): string {
  const count = Object.values(resources as unknown as Record<string, readonly unknown[]>).flat()
    .length
  const read = `${counted(count, 'resource')} read`
  if (problems.length + wrong + warnings + remarks === 0)
    return count === 0 ? `${read}: ${NOTHING_SERVED}` : `${read}; all is well`
  return [
    `${read}; ${counted(problems.length, 'problem')} in documents, ${wrong} in what they mean`,
    ...(warnings === 0 ? [] : [counted(warnings, 'warning')]),
    ...(remarks === 0 ? [] : [`${counted(remarks, 'remark')} (--strict)`]),
  ].join(', ')
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

// Finds valid resources that serve nothing: `check` prints a note for each, not an error.

/** What a valid resource lacks to serve anything. */
export interface IdleResource {
  readonly kind: 'Gateway' | 'HTTPRoute'
  readonly namespace: string
  readonly name: string
  readonly sentence: string
}

/** Returns a note for each resource. apiGroup: value of --api-group. */
const idleNotes = (resources: Resources, apiGroup: string): readonly IdleResource[] => [
  ...foreignGateways(resources, `${apiGroup}/gatehouse`),
  ...resources.httpRoutes.flatMap(({ spec, metadata }): readonly IdleResource[] =>
    spec.parentRefs.length > 0
      ? []
      : [{ kind: 'HTTPRoute', ...named(metadata), sentence: NO_PARENTS }],
  ),
]

const NO_PARENTS = 'it has no parentRefs: no Gateway serves it'

function foreignGateways(
  { gateways, gatewayClasses }: Resources,
  controller: string,
): readonly IdleResource[] {
  const controllers = new Map(
    gatewayClasses.map(({ metadata, spec }) => [metadata.name, spec.controllerName]),
  )
  return gateways.flatMap(({ spec, metadata }): readonly IdleResource[] => {
    const other = controllers.get(spec.gatewayClassName)
    if (other === undefined || other === controller) return []
    const why = `its GatewayClass ${spec.gatewayClassName} is of ${other}, not of ${controller}`
    return [{ kind: 'Gateway', ...named(metadata), sentence: `it is left alone: ${why}` }]
  })
}

const named = ({ namespace, name }: Metadata) => ({ namespace, name })

// What `check` says of the documents of identity providers, at the policy that wants them: which of them would be asked for
// without TLS, and what it cannot know without --fetch. The latter describes the command, and is no remark.

type Policy = Resources['proxyPolicies'][number]

/** What the findings are made of. */
export interface DocumentsChecked extends Pick<Offline, 'wantedBy'> {
  readonly wanted: readonly WantedDocument[]
  /** Says where a policy is. */
  readonly placeOf: (policy: Policy) => FindingPlace
}

/** Returns a note for each document that is asked for without TLS at the port of HTTPS. */
const plainNotes = ({ wanted, ...of }: DocumentsChecked): readonly CheckFinding[] =>
  wanted.filter(isPlainOnTlsPort).map((each) => ({
    level: 'note',
    ...placeOfWanted(each, of),
    sentence: `${documentName(each)} is asked for without TLS although the port is 443: is a BackendTLSPolicy missing?`,
  }))

const isPlainOnTlsPort = ({ targets }: WantedDocument): boolean => targets.some(isPlain)

const isPlain = ({ tls, endpoints }: RemoteTarget): boolean =>
  tls === undefined && endpoints.type === 'name' && endpoints.port === 443

/** Returns a finding for each thing that is not checked offline. */
const uncheckedFindings = (
  policies: readonly Policy[],
  { wanted, ...of }: DocumentsChecked,
): readonly CheckFinding[] => [
  ...wanted.map((each): CheckFinding => ({
    level: UNCHECKED,
    ...placeOfWanted(each, of),
    sentence: documentName(each),
  })),
  ...policies.flatMap((policy) =>
    issSentences(policy).map((sentence): CheckFinding => ({
      level: UNCHECKED,
      ...of.placeOf(policy),
      sentence,
    })),
  ),
]

const UNCHECKED = 'not checked offline'

/** The place of the first policy that wants the document. */
function placeOfWanted(
  { id }: WantedDocument,
  { wantedBy, placeOf }: Omit<DocumentsChecked, 'wanted'>,
): FindingPlace {
  const [first] = wantedBy.get(id) ?? []
  return first === undefined ? { place: '', resource: '' } : placeOf(first)
}

const documentName = ({ kind, targets }: WantedDocument): string =>
  `${targets[0]?.url ?? ''} (${kind === 'KeySet' ? 'key set' : 'discovery document'})`

/** Says what `check --fetch` and the policy's condition report if the provider sends iss. */
function issSentences({ spec }: Policy): readonly string[] {
  const { mcp, providers = [] } = spec.traffic?.jwtAuthentication ?? {}
  if (spec.mode === 'Audit' || mcp?.authorizationServer !== 'Gateway') return []
  const issuer = providers[0]?.issuer ?? ''
  return [
    `if ${issuer} sends iss in its authorization response (RFC 9207), MCP clients that check it cannot log in with authorizationServer Gateway: set mcp.authorizationServer to Provider or Relay (check --fetch asks the provider)`,
  ]
}
