// The span of one phase of a guard: from the first look at a body to the last verdict about it.

import type { SpanAttributes, TraceSpan } from '../../kit/tracing.js'
import type { Phase } from '../../model/proc-entry.js'
import type { GuardDeps } from './guard-deps.js'

/** How a phase ended. */
type PhaseOutcome = 'passed' | 'changed' | 'refused' | 'aborted'

/** Outcomes by the type of a result; every other type is a refusal. */
const OUTCOMES: Readonly<Record<string, PhaseOutcome>> = {
  passed: 'passed',
  pass: 'passed',
  same: 'passed',
  changed: 'changed',
  aborted: 'aborted',
}

/** The span of a phase. */
export interface PhaseSpan {
  /** The deps of the phase, with its span. */
  readonly deps: GuardDeps
  set(attributes: SpanAttributes): void
  /** Ends the span; later calls do nothing. */
  end(outcome: PhaseOutcome): void
}

/** Starts the span of a phase; without tracing, the deps stay as they are and nothing else happens. */
export function startPhaseSpan(deps: GuardDeps, route: string, phase: Phase): PhaseSpan {
  if (deps.trace === undefined) return { deps, set: () => undefined, end: () => undefined }
  const { tracer, ...sent } = deps.trace
  let span: TraceSpan | undefined = tracer.start(`gatehouse.guard ${phase}`, {
    ...sent,
    kind: 'server',
  })
  span.set({
    'gatehouse.route': route,
    'gatehouse.phase': phase,
    // Without it, the spans of audited webhooks would look as if clients had been refused.
    'gatehouse.mode': deps.mode,
  })
  return {
    deps: { ...deps, span },
    set: (attributes) => span?.set(attributes),
    end(outcome) {
      span?.set({ 'gatehouse.outcome': outcome })
      span?.end()
      span = undefined
    },
  }
}

/** Runs the work of a phase within its span. */
export const inPhaseSpan = <T extends { readonly type: string }>(
  deps: GuardDeps,
  route: string,
  phase: Phase,
  work: (deps: GuardDeps) => Promise<T>,
): Promise<T> => (deps.trace === undefined ? work(deps) : inStartedSpan(deps, route, phase, work))

async function inStartedSpan<T extends { readonly type: string }>(
  deps: GuardDeps,
  route: string,
  phase: Phase,
  work: (deps: GuardDeps) => Promise<T>,
): Promise<T> {
  const span = startPhaseSpan(deps, route, phase)
  try {
    const result = await work(span.deps)
    span.end(OUTCOMES[result.type] ?? 'refused')
    return result
  } finally {
    span.end('aborted')
  }
}
