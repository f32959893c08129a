// Answers GET /token/USER with an access token as text, after a whole headless login, for use on the command line.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { findUser, type IdpConfig } from './configuration.js'
import { logIn } from './headless-login.js'
import { shapePaths } from './shape.js'

// Never requested: the login ends when it would redirect there.
const REDIRECT_URI = 'http://127.0.0.1/callback'

/** Returns whether the request asks for a token; if so, it is answered asynchronously. */
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
