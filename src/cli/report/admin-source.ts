// Answers what the admin server asks for, from the running parts.

import type { Envoys } from '../../control/publish/envoys.js'
import { meshOf } from '../../control/publish/mesh.js'
import type { Pipeline } from '../../control/publish/pipeline.js'
import type { Publisher } from '../../control/publish/publisher.js'
import type { RemoteStore } from '../../kit/http/remote-store.js'
import { err, ok } from '../../kit/result.js'
import { runInTurns } from '../../kit/turns.js'
import type { AdminSource } from '../../ops/admin/admin-server.js'
import type { ExplainSource } from '../../ops/admin/explain-page.js'
import type { MetricsJson } from '../../ops/admin/merged-metrics.js'
import type { Metrics } from '../../ops/admin/metrics.js'
import type { StatusReport } from '../../ops/admin/status-report.js'
import { explain, type ExplainModel } from '../../ops/explain/explain.js'
import { readExplainRequest } from '../../ops/explain/explain-request.js'
import { explanationText } from '../../ops/explain/explanation-text.js'
import { readDescription } from '../../ops/explain/read-description.js'
import type { Settings } from '../../ops/settings/settings.js'
import type { KeySets } from '../servers/services.js'
import { createPageSource, type PageParts } from './page-source.js'
import { configDump, remoteReport, type ResourcesReport } from './report.js'

/** The running parts that the admin server reads. */
export interface AdminParts extends ExplainerParts, Omit<PageParts, 'workers'> {
  readonly pipeline: Pipeline
  readonly report: ResourcesReport
  readonly publisher: Publisher
  readonly envoys: Envoys
  /** Whether the connected Envoys get their configuration elsewhere. */
  readonly isBesideOthers: () => boolean
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
      ...(parts.isBesideOthers() && { isBesideOthers: true }),
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

// Explains requests with the configuration in force, for the admin server.

/** The running parts that an explanation reads. */
interface ExplainerParts {
  readonly settings: Settings
  readonly pipeline: Pick<Pipeline, 'state'>
  readonly publisher: Pick<Publisher, 'current'>
  readonly keySets: KeySets
  readonly now: () => number
}

/** Returns a function that explains a described request. */
const createExplainer =
  ({ settings, pipeline, publisher, keySets, now }: ExplainerParts): ExplainSource =>
  async (text) => {
    const described = readDescription(text)
    if (!described.ok) return described
    const request = readExplainRequest(described.value)
    if (!request.ok) return request
    const snapshot = publisher.current()
    const { provider, translation } = pipeline.state()
    if (snapshot === undefined || provider === undefined || translation === undefined)
      return err('no configuration is in force yet')
    const model: ExplainModel = {
      ...keySets,
      now,
      // Read at each use: a check may cause keys to be fetched.
      get ir() {
        return publisher.current()?.ir ?? snapshot.ir
      },
      statuses: translation.statuses,
      resources: provider.resources,
      trustedHops: settings.trustedHops,
      maxBodyBytes: settings.maxBodyBytes,
      ruleBudget: { steps: settings.ruleSteps, bytes: settings.ruleBytes },
      isOffline: false,
      isMesh: meshOf(settings).mesh !== undefined,
    }
    const explanation = await explain(model, request.value)
    return ok({ json: explanation, text: explanationText(explanation) })
  }
