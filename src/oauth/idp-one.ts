// IdpOne: issuer <scheme>://<host>/application/o/<app>/; has no registration of its own, so clientId is required.

import type { Idp } from './idp-shape.js'
import { issuerPath, openIdUrl } from './issuer.js'

export const idpOne: Idp = {
  discoveryUrls: (issuer) => [openIdUrl(issuer)],
  jwksPath: (issuer) => `${issuerPath(issuer)}/jwks/`,
  registration: () => ({
    type: 'refuse',
    description: 'clientId is not configured, and IdpOne does not register clients itself',
  }),
}
