// gatehouse check: prints what is wrong with resource files, a line each, and exits with 1 if anything is.

import type { RemoteTarget, WantedDocument } from '../ir/remote-target.js'
import {
  type Condition,
  inOneLine,
  isBad,
  isFact,
  placeOf,
  remarksOf,
  type ResourceStatus,
} from '../ir/status.js'
import { problemLine } from '../resources/decode/problem-line.js'
import { NOTHING_SERVED } from '../resources/files/file-provider.js'
import type { ProviderState, Resources } from '../resources/kinds/resources.js'
import type { Settings } from '../settings.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { fetchRemote } from './fetch-remote.js'
import { idleNotes } from './idle-resources.js'
import { type Offline, translateOffline } from './offline.js'
import { documentName, uncheckedLines } from './unchecked.js'

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
  { provider, translation, isMesh, isFetched = false }: Offline,
  { apiGroup, strict }: Pick<Settings, 'apiGroup' | 'strict'>,
): CheckReport {
  const findings = translation.statuses.flatMap((status) =>
    findingsOf(status, provider.resources, isFetched),
  )
  const wrong = findings.filter(({ isWrong }) => isWrong).map(({ line }) => line)
  const remarks = [
    ...(provider.notes ?? []).map(({ source, message }) => `${source}: note: ${message}`),
    ...findings.filter(({ isWrong }) => !isWrong).map(({ line }) => line),
    ...(isMesh === true ? [] : idleNotes(provider.resources, apiGroup)),
    ...translation.wanted.filter(isPlainOnTlsPort).map(plainLine),
  ]
  const faults = provider.problems.length + wrong.length + (strict ? remarks.length : 0)
  const lines = [
    ...provider.problems.map(problemLine),
    ...wrong,
    ...remarks,
    ...(isFetched ? [] : uncheckedLines(provider.resources, translation.wanted)),
    summary(provider, wrong.length, strict ? remarks.length : 0),
  ]
  return { isGood: faults === 0, text: `${lines.join('\n')}\n` }
}

const plainLine = (wanted: WantedDocument): string =>
  `note: ${documentName(wanted)} is asked for without TLS although the port is 443: is a BackendTLSPolicy missing?`

const isPlainOnTlsPort = ({ targets }: WantedDocument): boolean => targets.some(isPlain)

const isPlain = ({ tls, endpoints }: RemoteTarget): boolean =>
  tls === undefined && endpoints.type === 'name' && endpoints.port === 443

interface Finding {
  readonly isWrong: boolean
  readonly line: string
}

function findingsOf(
  status: ResourceStatus,
  resources: Resources,
  isFetched: boolean,
): readonly Finding[] {
  const source = sourceOf(status, resources)
  const name = status.namespace === '' ? status.name : `${status.namespace}/${status.name}`
  const conditions = isFetched ? status.conditions : status.conditions.filter(isCheckedOffline)
  return conditions.flatMap((condition) => {
    const isWrong = isBad(condition) || cannotWork(condition)
    const lines = (isWrong ? condition.message.split('\n') : remarksOf(condition)).filter(isNews)
    if (lines.length === 0) return []
    const what = `${status.kind} ${name}: ${headOf(condition)}: ${inOneLine(lines.join('\n'))}`
    return [{ isWrong, line: `${source}: ${isWrong ? '' : 'note: '}${what}` }]
  })
}

/** Whether a part of the resource is not in force as written, or cannot work. */
const cannotWork = ({ type, reason }: Condition): boolean =>
  reason === 'PartiallyValid' || type === 'PartiallyInvalid'

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

function sourceOf(status: ResourceStatus, resources: Resources): string {
  const all = Object.values(resources as unknown as Record<string, Resources['secrets']>).flat()
  const found = all.find(
    ({ apiVersion, kind, metadata }) =>
      apiVersion === status.apiVersion &&
      kind === status.kind &&
      metadata.namespace === status.namespace &&
      metadata.name === status.name,
  )
  return found?.source ?? status.kind
}

/** Returns the last line. remarks: how many count as faults. */
function summary({ resources, problems }: ProviderState, wrong: number, remarks: number): string {
  const count = Object.values(resources as unknown as Record<string, readonly unknown[]>).flat()
    .length
  const read = `${count} resource${count === 1 ? '' : 's'} read`
  if (problems.length + wrong + remarks === 0)
    return count === 0 ? `${read}: ${NOTHING_SERVED}` : `${read}; all is well`
  const strict = remarks === 0 ? '' : `, ${remarks} remark${remarks === 1 ? '' : 's'} (--strict)`
  return `${read}; ${problems.length} problem${problems.length === 1 ? '' : 's'} in documents, ${wrong} in what they mean${strict}`
}
