// Determines what Envoy's CORS filter does with a request on a route with CORS.

import { matchesWhole } from '../cel/patterns.js'
import type { Cors, Route } from '../ir/route.js'
import { headerValue, type RoutedRequest } from '../routing/match-route.js'

/** Whether the CORS filter answers the request itself, and whether it allows the origin. */
export function preflightOn(
  { cors }: Route,
  request: RoutedRequest,
): { readonly isAllowed: boolean } | undefined {
  if (cors === undefined || request.method !== 'OPTIONS') return undefined
  const origin = headerValue(request, 'origin')
  const asked = headerValue(request, 'access-control-request-method')
  if (origin === undefined || origin === '' || asked === undefined || asked === '') return undefined
  return { isAllowed: allows(cors, origin) }
}

const allows = ({ allowOrigins }: Cors, origin: string): boolean =>
  allowOrigins.some((allowed) =>
    allowed === '*' || !allowed.includes('*')
      ? allowed === '*' || allowed === origin
      : matchesWhole(origin, allowed.split('*').map(quoted).join('[a-zA-Z0-9.-]+')),
  )

const quoted = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
