// What a check costs: no filter, Envoy's own filters, a server that does nothing, and Gatehouse.

import { measure, type Row } from './measure.js'
import { startParties } from './parties.js'
import { newKeys, newTokens } from './tokens.js'

export interface CheckRows {
  readonly rows: readonly Row[]
  /** Milliseconds from the start of Gatehouse's process to /readyz saying 200. */
  readonly startupMs: number
}

/** Enough for some seconds of a server that verifies each of them. */
const NEW_TOKENS = 35_000

/** As it goes over the wire. */
const get = (token: string): string =>
  `GET /mcp HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\n\r\n`

export async function measureChecks(say: (text: string) => void): Promise<CheckRows> {
  const keys = await newKeys()
  say(`signing ${String(NEW_TOKENS)} tokens`)
  const tokens = await newTokens(keys, NEW_TOKENS)
  const one = get(tokens.pop() ?? '')
  const again = (): string => one
  const withNewToken = (): string | undefined => {
    const token = tokens.pop()
    return token === undefined ? undefined : get(token)
  }
  const parties = await startParties(keys)
  const { targets, startupMs } = parties
  try {
    const rows = await measure(
      [
        { name: 'no filter', target: targets['no filter'], nextRequest: again },
        { name: 'jwt_authn + rbac', target: targets['jwt_authn + rbac'], nextRequest: again },
        { name: 'no-op ext_authz', target: targets['no-op ext_authz'], nextRequest: again },
        { name: 'Gatehouse, remembered token', target: targets.Gatehouse, nextRequest: again },
        { name: 'Gatehouse, new token', target: targets.Gatehouse, nextRequest: withNewToken },
      ],
      say,
    )
    return { rows, startupMs }
  } finally {
    await parties.close()
  }
}
