// Determines which requests ask for another protocol (WebSocket), and which of these Envoy refuses before any filter.

import { UPGRADE_REFUSED } from '../../model/names.js'
import type { Route } from '../../model/route.js'
import type { Explanation } from './explanation.js'
import { headerValue, type RoutedRequest } from './routing/match-route.js'
import { byEnvoy } from './unrouted.js'

/** The protocol that the request asks for, in lower case; undefined: it is no upgrade. */
export function upgradeOf(request: RoutedRequest): string | undefined {
  const protocol = headerValue(request, 'upgrade')?.toLowerCase() ?? ''
  // Envoy removes "Upgrade: h2c", and serves the request without it.
  return protocol === '' || protocol === 'h2c' || !connectionNamesUpgrade(request)
    ? undefined
    : protocol
}

const connectionNamesUpgrade = (request: RoutedRequest): boolean =>
  (headerValue(request, 'connection') ?? '')
    .split(',')
    .some((token) => token.trim().toLowerCase() === 'upgrade')

/** Returns the answer if Envoy refuses the upgrade that the request asks for. */
export function refusedUpgrade(
  { action }: Route,
  request: RoutedRequest,
): Pick<Explanation, 'result' | 'answer' | 'changes'> | undefined {
  const protocol = upgradeOf(request)
  const isAllowed = action.type === 'forward' && action.allowUpgrades && protocol === 'websocket'
  return protocol === undefined || isAllowed ? undefined : REFUSED
}

const REFUSED: Pick<Explanation, 'result' | 'answer' | 'changes'> = {
  result: 'denied',
  answer: byEnvoy(
    UPGRADE_REFUSED.status,
    'upgrades are refused: only routes that are neither protected nor guarded accept them, and only to WebSocket',
  ),
  changes: ['Send the request without the header Upgrade'],
}
