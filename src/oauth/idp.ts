// What differs between identity providers: where their documents are, and who answers registration without a clientId.

import type { JsonObject } from '../ir/json.js'
import { idpOne } from './idp-one.js'
import { idpTwo } from './idp-two.js'
import type { Idp } from './idp-shape.js'
import { openIdUrl, originOf, parseHttpUrl, serverMetadataUrl } from './issuer.js'

/** mcp.provider of a policy, or none (decision 12a) → what is built in for it. */
export const idpOf = (provider: 'IdpOne' | 'IdpTwo' | undefined): Idp => {
  switch (provider) {
    case 'IdpOne':
      return idpOne
    case 'IdpTwo':
      return idpTwo
    case undefined:
      return anyIdp
  }
}

const anyIdp: Idp = {
  discoveryUrls: (issuer) => [serverMetadataUrl(issuer), openIdUrl(issuer)],
  jwksPath: () => undefined,
  registration: (issuer, discovery) => {
    const url = ownRegistrationEndpoint(issuer, discovery)
    return url === undefined
      ? {
          type: 'refuse',
          description:
            'the identity provider has no registration endpoint of its own; set mcp.clientId to register clients here',
        }
      : { type: 'proxy', url }
  },
}

/** Decision 12a: only where it has the issuer's origin, so that a document cannot point our calls elsewhere. */
const ownRegistrationEndpoint = (
  issuer: string,
  discovery: JsonObject | undefined,
): string | undefined => {
  const endpoint = discovery?.registration_endpoint
  if (typeof endpoint !== 'string') return undefined
  const url = parseHttpUrl(endpoint)
  if (url === undefined || url.username !== '' || url.password !== '') return undefined
  return url.origin === originOf(issuer) ? endpoint : undefined
}
