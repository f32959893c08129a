// Reports once what is served, where, and what is open, to the terminal of the person who started Gatehouse.

import type { Snapshot } from '../../control/publish/build-snapshot.js'
import { meshOf } from '../../control/publish/mesh.js'
import type { PipelineState } from '../../control/publish/pipeline.js'
import type { Logger } from '../../kit/logger.js'
import { each, type Work } from '../../kit/turns.js'
import type { RemoteState } from '../../model/remote-target.js'
import { isBad } from '../../model/status.js'
import { servedListeners, servedRoutes } from '../../ops/admin/served-routes.js'
import {
  type StartProblem,
  type StartReport,
  startScreen,
  type TerminalForm,
} from '../../ops/admin/start-screen.js'
import type { ReportedCondition, ReportedResource } from '../../ops/admin/status-report.js'
import type { Settings } from '../../ops/settings/settings.js'
import { formatAddress, type ServerAddress } from '../../ops/settings/values.js'

/** A terminal that a person reads. */
export interface Terminal extends TerminalForm {
  write(text: string): void
}

/** Addresses of the servers as bound; absent: not served. */
export interface StartAddresses {
  readonly admin: string
  readonly status: string | undefined
  readonly grpc: string | undefined
  readonly envoyAdmin: ServerAddress | undefined
}

/** What is in force when the first snapshot is published. */
export interface FirstPublication {
  readonly snapshot: Snapshot
  readonly state: PipelineState
  readonly remote: RemoteState
  /** Returns the report on the resources of the state. */
  readonly resources: () => readonly ReportedResource[]
}

/** What the start screen is printed with. */
export interface StartScreenParts {
  readonly terminal: Terminal
  readonly settings: Settings
  readonly logger: Logger
  readonly addresses: () => StartAddresses
}

/** Returns a function that writes the screen. A failure to do so is logged: everything is served without it. */
export const createStartScreen = ({ terminal, settings, logger, addresses }: StartScreenParts) =>
  function* (first: FirstPublication): Work<void> {
    try {
      const report = yield* startReport(first, settings, addresses())
      terminal.write(startScreen(report, terminal))
    } catch (error) {
      logger.error({ err: error }, 'the start screen could not be printed')
    }
  }

function* startReport(
  { snapshot: { ir, revision }, state, remote, ...first }: FirstPublication,
  settings: Settings,
  addresses: StartAddresses,
): Work<StartReport> {
  const resources = first.resources()
  const page = addresses.status && urlOf(addresses.status)
  const isMesh = meshOf(settings).mesh !== undefined
  return {
    revision,
    addresses: addressesOf(addresses),
    ...(!isMesh && { listeners: yield* servedListeners(ir) }),
    routes: yield* servedRoutes(ir, openRoutes(resources)),
    problems: yield* problemsOf(resources),
    missingKeySets: (state.translation?.wanted ?? []).filter(
      ({ id, kind }) => kind === 'KeySet' && remote.get(id)?.document === undefined,
    ).length,
    ...(page !== undefined && { more: page }),
    next: nextOf(settings, addresses),
  }
}

function openRoutes(resources: readonly ReportedResource[]): ReadonlySet<string> {
  const open = resources.filter((resource) => resource.open === true)
  return new Set(open.map(({ namespace, name }) => `${namespace}/${name}`))
}

function* problemsOf(resources: readonly ReportedResource[]): Work<readonly StartProblem[]> {
  const problems: StartProblem[] = []
  yield* each(resources, (resource) => {
    for (const condition of resource.conditions)
      if (isWorthSaying(condition)) problems.push({ resource, condition })
  })
  return problems
}

/** At the first publication no key set has been fetched: they are counted instead. */
const isWorthSaying = (condition: ReportedCondition): boolean =>
  isBad(condition) && condition.reason !== 'KeySetUnavailable'

function addressesOf({ admin, status, grpc, envoyAdmin }: StartAddresses) {
  const all: readonly (readonly [string, string | undefined])[] = [
    ['status page', status && urlOf(status)],
    ['admin', status === admin ? undefined : urlOf(admin)],
    ['gRPC', grpc],
    ['Envoy admin', envoyAdmin && urlOf(formatAddress(envoyAdmin))],
  ]
  return all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

function nextOf(settings: Settings, { status }: StartAddresses): StartReport['next'] {
  if (status === undefined) return []
  const token = settings.adminTokenFile === undefined ? '' : ' --admin-token-file FILE'
  const page = status.startsWith(UNIX)
    ? `curl --unix-socket ${status.slice(UNIX.length)} http://localhost/status`
    : `open ${urlOf(status)}`
  return [
    ['all routes and problems', page],
    [
      'why a request is refused',
      `gatehouse explain --admin ${status}${token} --request "POST https://HOST/PATH"`,
    ],
  ]
}

const UNIX = 'unix:'

const urlOf = (address: string): string =>
  address.startsWith(UNIX) ? address : `http://${address}/`
