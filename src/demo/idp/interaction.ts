// Handles the login between oidc-provider's redirects: shows a page, or skips it if login_hint names a known user.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import { findUser, type IdpConfig } from './configuration.js'
import { loginPage } from './login-page.js'

const MAX_FORM_BYTES = 4096

/** Answers GET and POST of the interaction URL. Rejects with oidc-provider's SessionNotFound for an expired one. */
export async function interact(
  provider: Provider,
  config: IdpConfig,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { params, prompt } = await provider.interactionDetails(request, response)
  const finish = (result: object): Promise<void> =>
    provider.interactionFinished(request, response, { consent: {}, ...result })
  if (prompt.name !== 'login') return finish({})
  const form = request.method === 'POST' ? await readForm(request) : undefined
  if (form?.has('cancel') === true) return finish({ error: 'access_denied' })
  const user = findUser(config, form?.get('user') ?? text(params.login_hint))
  if (user !== undefined) return finish({ login: { accountId: user.name } })
  const client = await provider.Client.find(text(params.client_id) ?? '')
  const name = client?.clientName ?? 'An MCP client'
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
  response.end(loginPage(config.users, name, text(params.redirect_uri) ?? ''))
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let body = ''
  for await (const chunk of request) {
    body += String(chunk)
    if (body.length > MAX_FORM_BYTES) break
  }
  return new URLSearchParams(body)
}
