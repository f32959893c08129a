// GET /token/USER → an access token as text: the whole login, with a headless browser, for the command line.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { findUser, type IdpConfig } from './configuration.js'
import { logIn } from './headless-login.js'
import { shapePaths } from './shape.js'

// Never called: the login ends where the browser would go there.
const REDIRECT_URI = 'http://127.0.0.1/callback'

/** Whether the request was one for a token; the answer comes by itself then. */
export function answersToken(
  request: IncomingMessage,
  response: ServerResponse,
  { config, origin }: { readonly config: IdpConfig; readonly origin: string },
): boolean {
  const name = /^\/token\/([^/?]+)$/.exec(request.url ?? '')?.[1]
  if (config.tokenPath !== true || request.method !== 'GET' || name === undefined) return false
  const names = config.users.map((user) => user.name).join(', ')
  const answer = (status: number, text: string): void => {
    response.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store' })
    response.end(text)
  }
  if (findUser(config, name) === undefined) answer(404, `No such user. There are: ${names}.\n`)
  else
    tokenOf(name, config, origin).then(
      (token) => answer(200, `${token}\n`),
      (error: unknown) => answer(500, `${String(error)}\n`),
    )
  return true
}

function tokenOf(user: string, { shape, clientId }: IdpConfig, origin: string): Promise<string> {
  const { mount, issuer } = shapePaths(shape)
  return logIn({
    authorizationEndpoint: `${origin}${mount}/auth`,
    tokenEndpoint: `${origin}${mount}/token`,
    clientId,
    redirectUri: REDIRECT_URI,
    scope: 'openid profile email',
    resource: origin + issuer,
    user,
  })
}
