// Handles the login between oidc-provider's redirects: shows a page, or skips it if login_hint names a known user.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import { findUser, type IdpConfig } from './configuration.js'
import type { User } from './shape.js'

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

// Page on which a person chooses a user, without a password: the identity provider is a stand-in on loopback.

const STYLE = `
  :root { color-scheme: light dark; --ink: #1d2733; --paper: #f4f6f8; --card: #fff; --edge: #d5dce3; --go: #2457a6 }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e8edf2; --paper: #12171d; --card: #1b222b; --edge: #37424e; --go: #7fb0ff }
  }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper);
    color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
  main { width: min(22rem, 90vw); padding: 2rem; background: var(--card); border: 1px solid var(--edge); border-radius: 12px }
  h1 { margin: 0 0 .25rem; font-size: 1.25rem }
  p { margin: 0 0 1.25rem; opacity: .8; overflow-wrap: anywhere }
  button { display: block; width: 100%; margin: .5rem 0 0; padding: .7rem 1rem; text-align: left; font: inherit;
    color: inherit; background: none; border: 1px solid var(--edge); border-radius: 8px; cursor: pointer }
  button:hover, button:focus-visible { border-color: var(--go); outline: none }
  button small { display: block; opacity: .7 }
  button.cancel { border: none; text-align: center; color: var(--go) }`

/** Returns the HTML of the page. returnTo: the client's redirect URI, shown to the person. */
function loginPage(users: readonly User[], client: string, returnTo: string): string {
  const buttons = users.map(
    ({ name, groups }) => `
      <button name="user" value="${escapeHtml(name)}">${escapeHtml(name)}
        <small>${groups.length === 0 ? 'in no group' : `in ${escapeHtml(groups.join(', '))}`}</small></button>`,
  )
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Log in</title><style>${STYLE}
</style></head>
<body><main>
  <h1>Who are you?</h1>
  <p><b>${escapeHtml(client)}</b> wants to act for you. You return to ${escapeHtml(returnTo)}.</p>
  <form method="post">${buttons.join('')}
      <button class="cancel" name="cancel" value="1">Cancel</button>
  </form>
</main></body>
</html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${String(character.charCodeAt(0))};`)
}
