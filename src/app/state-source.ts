// Reads the values for the gauges of /metrics from the running parts.

import type { KeySetState, StateSource } from '../admin/state-gauges.js'
import { countOpenRoutes, countPolicies, countResources } from '../admin/status-report.js'
import type { RemoteState, WantedDocument } from '../ir/remote-target.js'
import type { RemoteStore } from '../remote/remote-store.js'
import type { Envoys } from '../snapshot/envoys.js'
import type { Pipeline } from './pipeline.js'
import { resourcesReport } from './report.js'

export interface StateParts {
  readonly pipeline: Pick<Pipeline, 'state'>
  readonly envoys: Envoys
  readonly remote: Pick<RemoteStore, 'state'>
}

export function createStateSource({ pipeline, envoys, remote }: StateParts): StateSource {
  const resources = () => resourcesReport(pipeline.state())
  return {
    resources: () => countResources(resources()),
    policies: () => countPolicies(resources()),
    openRoutes: () => countOpenRoutes(resources()),
    envoys: () => envoys.versions(),
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
      const { document, error, fetchedAt } = state.get(id) ?? {}
      return {
        url: targets[0]?.url ?? '',
        hasKeys: document !== undefined,
        isFailing: error !== undefined,
        ...(fetchedAt !== undefined && { fetchedAt: fetchedAt / 1000 }),
      }
    })
