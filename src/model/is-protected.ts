// Tells which routes are protected.

import type { Route } from './route.js'

/** Whether the route is protected. One that refuses traffic counts: with a valid policy it might have been. */
export const isProtected = (route: Route): boolean =>
  (route.authz !== undefined && route.isAudited !== true) || route.action.type === 'refuse'
