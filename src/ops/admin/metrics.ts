// Prometheus metrics of all parts, under the names that the public interface fixes.

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { each, joinTexts, Pace, runInTurns, type Work } from '../../kit/turns.js'
import { CheckCounts, DurationCounts } from './check-counts.js'
import { type MetricsJson, type PlainValue, readMetrics, sumOf } from './merged-metrics.js'
import { MergedModels } from './merged-models.js'
import { createStateGauges, type StateSource } from './state-gauges.js'
import { type ReplyTokens, TokenCounts } from './token-counts.js'

/** Counts checks. */
export interface CheckCounters {
  /** route: NAMESPACE/NAME of the HTTPRoute. */
  observe(route: string, decision: string, reason: string, seconds: number): void
  /** Counts a decision of policies of mode Audit. */
  audited(route: string, decision: string, reason: string): void
  /** Removes the series of a route. */
  forget(route: string): void
}

/** Counts the verdicts of webhooks and the tokens of guarded replies. */
export interface GuardrailMetrics {
  verdict(labels: CountedVerdict, seconds: number): void
  headerBudgetExceeded(webhook: string): void
  /** Counts the tokens that a reply says were used. */
  tokens(route: string, reply: ReplyTokens): void
  /** Removes the series of a route. */
  forget(route: string): void
}

/** The metrics of a process. */
export interface Metrics {
  xdsNack(type: string, node: string): void
  xdsPush(type: string): void
  readonly checks: CheckCounters
  readonly guardrails: GuardrailMetrics
  readonly streams: StreamCounts
  /** Counts that a budget was used up. */
  readonly budgetReached: BudgetReached
  /** Removes the series of HTTPRoutes that are gone, in slices. */
  forgetRoutes(routes: readonly string[]): Promise<void>
  keySetFetch(result: string): void
  translationFailed(): void
  /** Sets the source of the state gauges, which is read at every scrape. */
  state(source: StateSource): void
  /** Counts items handed on, to a file or a collector. */
  exported(to: string, signal: string, result: string, items: number): void
  /** Counts a worker that ended and is replaced. */
  workerEnded(): void
  /** Returns the text of /metrics; others: the metrics of other processes. */
  text(others?: readonly MetricsJson[]): Promise<string>
  /** Returns the metrics as JSON, for another process to merge into its text. */
  json(): Promise<MetricsJson>
  /** Returns these metrics and those of other processes, merged. */
  merged(others: readonly MetricsJson[]): Promise<MetricsJson>
  readonly contentType: string
}

// In seconds. A check takes tens of microseconds; one over a second is stuck.
const CHECK_BUCKETS = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1,
]

const MAX_NODES = 100
const MAX_NODE_LENGTH = 100

/** Returns the label for a node. Nodes name themselves, so number and length are bounded; the rest is "other". */
function boundedNodes(): (node: string) => string {
  const known = new Set<string>()
  return (node) => {
    const short = node.slice(0, MAX_NODE_LENGTH)
    if (known.size < MAX_NODES) known.add(short)
    return known.has(short) ? short : 'other'
  }
}

// In seconds. A webhook may be a word list or run a model.
const WEBHOOK_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

function createGuardrailMetrics(registers: Registry[], budgets: BudgetCounts): GuardrailMetrics {
  const verdicts = new Counter({
    name: 'gatehouse_guardrail_verdicts_total',
    help: 'Answers of guardrail webhooks, and what was done without one.',
    labelNames: ['webhook', 'phase', 'outcome', 'reason', 'mode'] as const,
    registers,
  })
  const duration = new Histogram({
    name: 'gatehouse_guardrail_webhook_duration_seconds',
    help: 'Time from a call of a guardrail webhook to its verdict.',
    labelNames: ['webhook', 'phase'] as const,
    buckets: WEBHOOK_BUCKETS,
    registers,
  })
  const headerBudgets = new Counter({
    name: 'gatehouse_guardrail_header_budget_exceeded_total',
    help: 'Calls of guardrail webhooks without headers whose expressions went beyond their budget.',
    labelNames: ['webhook'] as const,
    registers,
  })
  const tokens = new TokenCounts(registers, () => budgets.reached('models'))
  return {
    tokens: (route, reply) => tokens.add(route, reply),
    forget: (route) => tokens.forget(route),
    headerBudgetExceeded(webhook) {
      budgets.reached('rule-work')
      headerBudgets.inc({ webhook })
    },
    verdict(labels, seconds) {
      const { webhook, phase, reason } = labels
      if (reason !== undefined) budgets.because(reason)
      verdicts.inc({ ...labels })
      duration.observe({ webhook, phase }, seconds)
    },
  }
}

function createCheckMetrics(registers: Registry[], budgets: BudgetCounts): CheckCounters {
  const checks = new Counter({
    name: 'gatehouse_checks_total',
    help: 'ext_authz checks answered, and with mode="audit" what policies of mode Audit would have answered.',
    labelNames: ['route', 'decision', 'reason', 'mode'] as const,
    registers,
    collect: () =>
      runInTurns(checkCounts.flush((labels, count) => checks.inc({ ...labels }, count))),
  })
  const checkCounts = new CheckCounts()
  const checkDuration = new DurationCounts(
    {
      name: 'gatehouse_check_duration_seconds',
      help: 'Time from a check request to its answer.',
      registers,
    },
    CHECK_BUCKETS,
  )
  return {
    observe(route, decision, reason, seconds) {
      if (decision === 'deny') budgets.because(reason)
      checkCounts.add(route, decision, reason)
      checkDuration.add(seconds)
    },
    audited(route, decision, reason) {
      if (decision === 'deny') budgets.because(reason)
      checkCounts.add(route, decision, reason, 'audit')
    },
    forget(route) {
      for (const labels of checkCounts.forget(route)) checks.remove(labels)
    },
  }
}

function createXdsMetrics(registers: Registry[]): Pick<Metrics, 'xdsNack' | 'xdsPush'> {
  const nodeLabel = boundedNodes()
  const nacks = new Counter({
    name: 'gatehouse_xds_nacks_total',
    help: 'Configurations that an Envoy refused.',
    labelNames: ['type', 'node'] as const,
    registers,
  })
  const pushes = new Counter({
    name: 'gatehouse_xds_pushes_total',
    help: 'xDS responses sent.',
    labelNames: ['type'] as const,
    registers,
  })
  return {
    xdsNack: (type, node) => nacks.inc({ type, node: nodeLabel(node) }),
    xdsPush: (type) => pushes.inc({ type }),
  }
}

function createArrowMetrics(
  registers: Registry[],
): Pick<Metrics, 'keySetFetch' | 'translationFailed'> {
  const keySetFetches = new Counter({
    name: 'gatehouse_key_set_fetches_total',
    help: 'Fetches of key sets.',
    labelNames: ['result'] as const,
    registers,
  })
  const translationFailures = new Counter({
    name: 'gatehouse_translation_failures_total',
    help: 'Changes that could not be turned into a snapshot because of a bug; the last good one stays in force.',
    registers,
  })
  return {
    keySetFetch: (result) => keySetFetches.inc({ result }),
    translationFailed: () => translationFailures.inc(),
  }
}

/** Returns a function that counts items handed on; the counter exists only after the first. */
function exportedItems(registers: Registry[], budgets: BudgetCounts): Metrics['exported'] {
  let exported: Counter<'to' | 'signal' | 'result'> | undefined
  return (to, signal, result, items) => {
    exported ??= new Counter({
      name: 'gatehouse_exported_total',
      help: 'Lines of the decision log and spans handed on to a file or a collector.',
      labelNames: ['to', 'signal', 'result'] as const,
      registers,
    })
    exported.inc({ to, signal, result }, items)
    if (result === 'dropped') budgets.reached('export-queue', items)
  }
}

/** Returns a function that counts an ended worker; without workers the counter never exists. */
function workerEnds(registers: Registry[]): () => void {
  let ends: Counter | undefined
  return () => {
    ends ??= new Counter({
      name: 'gatehouse_worker_restarts_total',
      help: 'Workers that ended and were replaced.',
      registers,
    })
    ends.inc()
  }
}

/** Registers the bytes that guarded bodies hold, and the limit, which only the main process sets: workers have 0. */
function registerHeldBytes(registers: Registry[], held: () => number, limit: number): void {
  new Gauge({
    name: 'gatehouse_held_bytes',
    help: 'Bytes that guarded bodies hold, of those that --held-bytes allows.',
    registers,
    collect() {
      this.set(held())
    },
  })
  new Gauge({
    name: 'gatehouse_held_bytes_limit',
    help: 'Bytes that guarded bodies may hold together (--held-bytes).',
    registers,
  }).set(limit)
}

/** Creates metrics in a registry of their own, as tests have several. heldBytes: what guarded bodies hold now. */
export function createMetrics(heldBytes = (): number => 0, heldBytesLimit = 0): Metrics {
  const registry = new Registry()
  const registers = [registry]
  registerHeldBytes(registers, heldBytes, heldBytesLimit)
  collectDefaultMetrics({ register: registry })
  const budgets = createBudgetCounts(registers)
  const checks = createCheckMetrics(registers, budgets)
  const guardrails = createGuardrailMetrics(registers, budgets)
  const models = new MergedModels()
  const json = () => readMetrics(registry)
  const sum = async (others: readonly MetricsJson[]) =>
    sumOf(await runInTurns(models.bounded([await json(), ...others])))
  return {
    ...createXdsMetrics(registers),
    ...createArrowMetrics(registers),
    state: createStateGauges(registers),
    checks,
    guardrails,
    streams: new StreamCounts(registers),
    budgetReached: budgets.reached,
    forgetRoutes: (routes) =>
      runInTurns(
        each(routes, (route) => {
          for (const part of [checks, guardrails]) part.forget(route)
        }),
      ),
    exported: exportedItems(registers, budgets),
    workerEnded: workerEnds(registers),
    text: async (others = []) =>
      runInTurns(metricsText(others.length === 0 ? await json() : await sum(others))),
    json,
    merged: sum,
    contentType: registry.contentType,
  }
}

// Counts open ext_proc streams in a plain map, which is read at every scrape.

/** Gauge of open ext_proc streams by type. */
class StreamCounts {
  /** Numbers by type; a type stays, at 0, when its last stream has ended. */
  readonly #open = new Map<string, number>()

  constructor(registers: Registry[]) {
    const open = this.#open
    new Gauge({
      name: 'gatehouse_open_streams',
      help: 'Open ext_proc streams, one for each request in progress, by what they are for.',
      labelNames: ['type'] as const,
      registers,
      collect() {
        for (const [type, count] of open) this.set({ type }, count)
      },
    })
  }

  opened(type: string): void {
    this.#open.set(type, (this.#open.get(type) ?? 0) + 1)
  }

  closed(type: string): void {
    this.#open.set(type, (this.#open.get(type) ?? 0) - 1)
  }
}

// Prints metrics in Prometheus' text format, in slices: prom-client prints all series of a metric at once, which holds up
// checks for 50 to 200 ms with 10,000 routes.

/** Returns the text of all metrics. */
export function* metricsText(metrics: MetricsJson, pace = new Pace()): Work<string> {
  const out: string[] = []
  for (const { name, help, type, values } of metrics) {
    const gap = out.length === 0 ? '' : '\n'
    out.push(`${gap}# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`)
    for (const value of values) {
      if (pace.isDue(LINE_UNITS)) yield
      out.push(lineOf(name, value))
    }
  }
  return yield* joinTexts(out, pace)
}

/** A line costs as much as looking at this many JSON values. */
const LINE_UNITS = 8

function lineOf(name: string, { metricName = name, labels, value }: PlainValue): string {
  const pairs: string[] = []
  for (const label in labels) pairs.push(`${label}="${labelText(labels[label] ?? '')}"`)
  return `${metricName}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}\n`
}

const labelText = (value: string | number): string =>
  typeof value === 'string' ? escaped(value).replaceAll('"', '\\"') : String(value)

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value < 0 ? '-Inf' : '+Inf'
}

/** Labels of a verdict. */
interface CountedVerdict {
  /** Name of its backend. */
  readonly webhook: string
  readonly phase: string
  readonly outcome: string
  /** Why there is no verdict; absent: there is one. */
  readonly reason?: string
  readonly mode?: 'audit'
}

// Counts what was refused, shortened or dropped because a budget of this process was used up.

/** The budgets that are counted, by their label in the metrics. */
export const BUDGETS = [
  'held-bytes',
  'grpc-messages',
  'webhook-queue',
  'rule-work',
  'mcp-bodies',
  'provider-calls',
  'connections',
  'models',
  'export-queue',
] as const

/** A limit that all requests, or all of one route or server, share. */
export type CountedBudget = (typeof BUDGETS)[number]

/** Counts that a budget was used up. times: 1 if absent. */
type BudgetReached = (budget: CountedBudget, times?: number) => void

/** Budgets by the reason of a denied check, or of a call of a webhook without a verdict. */
const BY_REASON: ReadonlyMap<string, CountedBudget> = new Map([
  ['rule-budget', 'rule-work'],
  ['too-many-bodies', 'mcp-bodies'],
  ['busy', 'webhook-queue'],
  ['no-connection', 'webhook-queue'],
])

/** The counter of budgets that were used up. */
interface BudgetCounts {
  readonly reached: BudgetReached
  /** Counts the budget of a reason; other reasons have none. */
  because(reason: string): void
}

/** Every budget has a series from the start, so that an increase shows the first time too. */
function createBudgetCounts(registers: Registry[]): BudgetCounts {
  const counter = new Counter({
    name: 'gatehouse_budget_reached_total',
    help: 'Times that a budget was used up and something was refused, shortened or dropped for it.',
    labelNames: ['budget'] as const,
    registers,
  })
  for (const budget of BUDGETS) counter.inc({ budget }, 0)
  const reached: BudgetReached = (budget, times = 1) => counter.inc({ budget }, times)
  return {
    reached,
    because(reason) {
      const budget = BY_REASON.get(reason)
      if (budget !== undefined) reached(budget)
    },
  }
}
