// Reads the values for the gauges of /metrics from the running parts.

import type { RunningController } from '../../addons/mesh/controller/mesh-controller.js'
import type { EnvoyTokens } from '../../addons/provision/envoy-tokens.js'
import type { Envoys } from '../../control/publish/envoys.js'
import { meshOf } from '../../control/publish/mesh.js'
import type { Pipeline } from '../../control/publish/pipeline.js'
import type { RemoteStore } from '../../kit/http/remote-store.js'
import { memo } from '../../kit/incremental/memo.js'
import type { RemoteState, WantedDocument } from '../../model/remote-target.js'
import type { KeySetState, StateSource } from '../../ops/admin/state-gauges.js'
import {
  countOpenRoutes,
  countPolicies,
  countResources,
  type ReportedResource,
} from '../../ops/admin/status-report.js'
import type { Settings } from '../../ops/settings/settings.js'
import type { ResourcesReport } from './report.js'

/** The running parts that the gauges read. */
export interface StateParts {
  readonly pipeline: Pick<Pipeline, 'state'>
  readonly report: ResourcesReport
  readonly envoys: Envoys
  /** Whether the connected Envoys get their configuration elsewhere. */
  readonly isBesideOthers: () => boolean
  readonly remote: Pick<RemoteStore, 'state'>
  readonly mesh?: MeshParts | undefined
  /** Knows Envoys by their tokens; absent: no client needs one. */
  readonly tokens?: Pick<EnvoyTokens, 'refusals'> | undefined
}

/** What others need of the controller of a mesh. */
export type MeshParts = Pick<RunningController, 'probes' | 'followSecret' | 'enforced'>

/** Creates the source of the gauges. */
export function createStateSource(parts: StateParts): StateSource {
  const { pipeline, report, envoys, isBesideOthers, remote, mesh, tokens } = parts
  const countsOf = memo((resources: readonly ReportedResource[]) => ({
    resources: countResources(resources),
    policies: countPolicies(resources),
    openRoutes: countOpenRoutes(resources),
  }))
  const counts = () => countsOf(report(pipeline.state()))
  return {
    resources: () => counts().resources,
    policies: () => counts().policies,
    enforced: () => [...(mesh?.enforced().values() ?? [])].map(({ isEnforced }) => isEnforced),
    openRoutes: () => counts().openRoutes,
    envoys: () => (isBesideOthers() ? undefined : envoys.versions()),
    ...(tokens && { tokenRefusals: () => tokens.refusals() }),
    keySets: () => keySetStates(pipeline.state().translation?.wanted ?? [], remote.state()),
  }
}

const keySetStates = (
  wanted: readonly WantedDocument[],
  state: RemoteState,
): readonly KeySetState[] =>
  wanted
    .filter(({ kind }) => kind === 'KeySet')
    .map(({ id, targets }) => {
      const { document, error, fetchedAt, failedAt } = state.get(id) ?? {}
      const times = [fetchedAt, failedAt].filter((time) => time !== undefined)
      return {
        url: targets[0]?.url ?? '',
        hasKeys: document !== undefined,
        isFailing: error !== undefined,
        ...(fetchedAt !== undefined && { fetchedAt: fetchedAt / 1000 }),
        ...(times.length > 0 && { attemptedAt: Math.max(...times) / 1000 }),
      }
    })

/**
 * Tells whether the Envoys get their configuration elsewhere: those of a mesh do, and what is connected without ever
 * having asked for it. connections: number of open connections.
 */
export const besideOthers = (
  settings: Settings,
  envoys: Pick<Envoys, 'report'>,
  { connections }: { readonly connections: () => number },
): Pick<StateParts, 'isBesideOthers'> => ({
  isBesideOthers: () =>
    envoys.report().length === 0 && (meshOf(settings).mesh !== undefined || connections() > 0),
})
