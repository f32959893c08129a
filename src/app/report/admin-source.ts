// Answers what the admin server asks for, from the running parts.

import type { AdminSource } from '../../admin/admin-server.js'
import type { MetricsJson } from '../../admin/merged-metrics.js'
import type { Metrics } from '../../admin/metrics.js'
import type { StatusReport } from '../../admin/status-report.js'
import type { RemoteStore } from '../../remote/remote-store.js'
import type { Envoys } from '../../snapshot/envoys.js'
import type { Publisher } from '../../snapshot/publisher.js'
import { runInTurns } from '../../turns.js'
import type { Pipeline } from '../pipeline/pipeline.js'
import { createExplainer, type ExplainerParts } from './explainer.js'
import { createPageSource, type PageParts } from './page-source.js'
import { configDump, remoteReport, type ResourcesReport } from './report.js'

/** The running parts that the admin server reads. */
export interface AdminParts extends ExplainerParts, Omit<PageParts, 'workers'> {
  readonly pipeline: Pipeline
  readonly report: ResourcesReport
  readonly publisher: Publisher
  readonly envoys: Envoys
  readonly remote: RemoteStore
  readonly metrics: Metrics
  /** Absent: this process answers Envoy itself. */
  readonly workers:
    (NonNullable<PageParts['workers']> & { metrics(): Promise<readonly MetricsJson[]> }) | undefined
}

/** obstacles: reasons for not being ready; empty: ready. */
export function createAdminSource(
  parts: AdminParts,
  obstacles: () => readonly string[],
): AdminSource {
  const { pipeline, report, publisher, envoys, remote, metrics, workers, now } = parts
  const readiness = () => {
    const reasons = obstacles()
    return { ready: reasons.length === 0, reasons }
  }
  const status = async (): Promise<StatusReport> => {
    await runInTurns(report.prepare(pipeline.state()))
    return {
      ...readiness(),
      ...revision(publisher.current()?.revision, pipeline.state().failure),
      resources: report(pipeline.state()),
      envoys: envoys.report(),
      remote: remoteReport(pipeline.state().translation?.wanted ?? [], remote.state(), now()),
    }
  }
  return {
    readiness,
    explain: createExplainer(parts),
    status,
    page: createPageSource(parts, status),
    configDump: () => configDump(publisher.current(), envoys.report()),
    metrics: async () => {
      await runInTurns(report.prepare(pipeline.state()))
      return {
        contentType: metrics.contentType,
        text: await metrics.text(await workers?.metrics()),
      }
    },
  }
}

const revision = (current: string | undefined, failure: string | undefined) => ({
  ...(current !== undefined && { revision: current }),
  ...(failure !== undefined && { failure }),
})
