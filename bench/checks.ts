// Measures the cost of a check: no filter, Envoy's own filters, no-op servers, OPA-Envoy and Gatehouse.

import type { Variant } from './envoy-config.js'
import { load } from './load.js'
import { type LoadName, MANY, measure, type Row, type Scenario } from './measure.js'
import { startParties } from './parties.js'
import { newKeys, newTokens } from './tokens.js'

export const GO_NOOP = 'Go no-op'
export const GRPC_JS_NOOP = 'grpc-js no-op'
export const REMEMBERED = 'Gatehouse, remembered token'
const EXPORTING = 'Gatehouse, remembered token, OTLP'
const LIVE = 'Gatehouse, 40,000 remembered tokens'
export const NEW = 'Gatehouse, new token'

export interface CheckRows {
  readonly rows: readonly Row[]
  /** Milliseconds from the start of Gatehouse's process until /readyz answers 200. */
  readonly startupMs: number
}

/** Tokens for each load: more than a server that verifies each of them can take meanwhile. */
const NEW_TOKENS: Readonly<Record<LoadName, number>> = {
  'warm-up': 50_000,
  one: 5_000,
  many: 18_000,
}

/** As many as Gatehouse remembers by default. */
const LIVE_TOKENS = 40_000

/** The raw HTTP/1.1 request. */
const get = (token: string): string =>
  `GET /mcp HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\n\r\n`

export async function measureChecks(
  rounds: number,
  say: (text: string) => void,
): Promise<CheckRows> {
  const keys = await newKeys()
  const { 'warm-up': first, one: byOne, many: byMany } = NEW_TOKENS
  const count = first + rounds * (byOne + byMany) + LIVE_TOKENS
  say(`signing ${String(count)} tokens`)
  const tokens = await newTokens(keys, count)
  const one = get(tokens.pop() ?? '')
  const again = () => (): string => one
  const withNewTokens = (load: LoadName) => {
    const own = tokens.splice(-NEW_TOKENS[load])
    return (): string | undefined => {
      const token = own.pop()
      return token === undefined ? undefined : get(token)
    }
  }
  const live = tokens.splice(-LIVE_TOKENS)
  let next = 0
  const withLiveTokens = () => (): string => get(live[next++ % LIVE_TOKENS] ?? '')
  const parties = await startParties(keys)
  const { targets, present, startupMs } = parties
  const scenario = (variant: Variant, requests: Scenario['requests'] = again, name?: string) =>
    present.has(variant) ? [{ name: name ?? variant, target: targets[variant], requests }] : []
  try {
    say(`${LIVE}: each twice, as a token is remembered once it is used again`)
    let left = 2 * LIVE_TOKENS
    await load({
      port: targets['Gatehouse with many tokens'].port,
      connections: MANY,
      milliseconds: 120_000,
      nextRequest: () => (left-- > 0 ? withLiveTokens()() : undefined),
    })
    const scenarios = [
      ...scenario('no filter'),
      ...scenario('jwt_authn + rbac'),
      ...scenario(GO_NOOP),
      ...scenario(GRPC_JS_NOOP),
      ...scenario('OPA-Envoy'),
      ...scenario('Gatehouse', again, REMEMBERED),
      ...scenario('Gatehouse with OTLP', again, EXPORTING),
      ...scenario('Gatehouse with many tokens', withLiveTokens, LIVE),
      ...scenario('Gatehouse', withNewTokens, NEW),
    ]
    return { rows: await measure(scenarios, rounds, say), startupMs }
  } finally {
    await parties.close()
  }
}
