// Builds what the admin server shows from the state of the pipeline, the Envoys and the remote documents.

import type { Snapshot } from '../../control/publish/build-snapshot.js'
import type { PipelineState } from '../../control/publish/pipeline.js'
import { problemLine } from '../../control/schema/decode/problem-line.js'
import type { Resource, Resources } from '../../control/schema/kinds/resources.js'
import { concat } from '../../kit/incremental/chunked-list.js'
import { briefMemoWork, memo } from '../../kit/incremental/memo.js'
import { atOnce, mapEach, type Work } from '../../kit/turns.js'
import type { Json, LazyJson } from '../../model/json.js'
import type { RemoteState, WantedDocument } from '../../model/remote-target.js'
import type {
  EnvoyReport,
  ReadResource,
  RemoteReport,
  ReportedResource,
} from '../../ops/admin/status-report.js'
import { createResourceReport, typeName } from '../../ops/admin/status-report.js'
import { dumpXds } from '../../xds/translator/dump-xds.js'

/** Returns the report on the resources of a state. */
export interface ResourcesReport {
  (state: PipelineState): readonly ReportedResource[]
  /** Builds the report in slices, so that it is there when it is asked for. */
  prepare(state: PipelineState): Work<void>
}

/** Creates the report on the resources, which is built once for each state: several callers ask for it. */
export function createResourcesReport(): ResourcesReport {
  const report = createResourceReport()
  const read = memo(readOf)
  const built = briefMemoWork(function* ({ provider, translation }: PipelineState) {
    if (provider === undefined) return []
    const resources = yield* mapEach(allOf(provider.resources), read)
    return yield* report(resources, translation?.statuses ?? [], provider.problems)
  })
  return Object.assign((state: PipelineState) => atOnce(built(state)), {
    *prepare(state: PipelineState): Work<void> {
      yield* built(state)
    },
  })
}

const allOf = (resources: Resources): readonly Resource<unknown>[] =>
  concat(Object.values(resources as unknown as Record<string, Resources['secrets']>))

const readOf = ({ apiVersion, kind, metadata, source }: Resource<unknown>): ReadResource => ({
  apiVersion,
  kind,
  namespace: metadata.namespace,
  name: metadata.name,
  source,
})

/** now: milliseconds since the epoch. */
export const remoteReport = (
  wanted: readonly WantedDocument[],
  state: RemoteState,
  now: number,
): readonly RemoteReport[] =>
  wanted.map(({ id, kind, targets }) => {
    const { fetchedAt, error } = state.get(id) ?? {}
    return {
      kind,
      url: targets[0]?.url ?? '',
      ...(fetchedAt !== undefined && {
        fetchedAt: new Date(fetchedAt).toISOString(),
        ageSeconds: Math.round((now - fetchedAt) / 1000),
      }),
      ...(error !== undefined && { error }),
    }
  })

/** What prevents the first snapshot from being published; empty: nothing. */
export function unpublished(
  state: PipelineState,
  snapshot: Snapshot | undefined,
): readonly string[] {
  if (snapshot !== undefined) return []
  const { provider, failure } = state
  if (provider === undefined) return ['the resources have not been read yet']
  if (failure !== undefined) return [`the resources could not be translated: ${failure}`]
  const problems = provider.problems.map(problemLine)
  return problems.length > 0 ? problems : ['the resources are not complete yet']
}

/** Configuration that connected Envoys reject, as reasons for not being ready. */
export const refusals = (envoys: readonly EnvoyReport[]): readonly string[] =>
  envoys
    .filter(({ connected }) => connected)
    .flatMap(({ node, types }) =>
      types.flatMap(({ type, nacked }) =>
        nacked === undefined
          ? []
          : [`${node} refuses its ${typeName(type)}: ${nacked.message.trim()}`],
      ),
    )

/** Contents of /config_dump. The model is unredacted; Envoy's resources are redacted. */
export const configDump = (
  snapshot: Snapshot | undefined,
  envoys: readonly EnvoyReport[],
): LazyJson => ({
  revision: snapshot?.revision ?? null,
  ir: (snapshot?.ir ?? null) as unknown as Json,
  xds: dumpXds(snapshot?.resources ?? new Map()),
  envoys: envoys as unknown as Json,
})
