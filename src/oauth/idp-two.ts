// IdpTwo: issuer https://<host>/v1/apps/agentic/<project>/<server>; keys and registration are elsewhere on that host.

import type { Idp } from './idp-shape.js'
import { openIdUrl, originOf } from './issuer.js'

const ISSUER_PATH = /^\/v1\/apps\/agentic\/([^/]+)\/([^/]+)\/?$/

export const idpTwo: Idp = {
  discoveryUrls: (issuer) => [openIdUrl(issuer)],
  // Decision 11: keys are published per project, not per MCP server.
  jwksPath: (issuer) => {
    const names = namesIn(issuer)
    return names === undefined ? undefined : `/${names.project}/.well-known/jwks.json`
  },
  // Decision 12.
  registration: (issuer) => {
    const names = namesIn(issuer)
    return names === undefined
      ? {
          type: 'refuse',
          description:
            'the issuer does not have the form <host>/v1/apps/agentic/<project>/<server>',
        }
      : {
          type: 'proxy',
          url: `${originOf(issuer) ?? ''}/v1/mgmt/mcp/client/${names.project}/${names.server}/register`,
        }
  },
}

const namesIn = (issuer: string): { project: string; server: string } | undefined => {
  if (!URL.canParse(issuer)) return undefined
  const [, project, server] = ISSUER_PATH.exec(new URL(issuer).pathname) ?? []
  return project === undefined || server === undefined ? undefined : { project, server }
}
