// User agents that log in wherever a login leads: a relay's consent page, the demo's identity provider, Keycloak.

import type { Page } from 'playwright-core'
import type { UserAgent } from '../../support/clients/client-run.js'
import { ask, type CookieJar } from '../../support/clients/consenting-agent.js'

const MAX_STEPS = 20

interface Next {
  readonly url: URL
  readonly form?: URLSearchParams
}

/**
 * Logs in without a browser: follows redirects with cookies and posts the forms. The URL's login_hint is both user name
 * and password.
 */
export const visitAnywhere: UserAgent = async (authorization) => {
  const user = authorization.searchParams.get('login_hint') ?? ''
  const redirectUri = authorization.searchParams.get('redirect_uri') ?? ''
  const cookies: CookieJar = new Map()
  let next: Next = { url: authorization }
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const { url, headers, body } = await ask(next.url, next.form, cookies)
    const location = headers.get('location')
    next = location === null ? answerOf(url, body, user) : { url: new URL(location, url) }
    if (next.url.href.startsWith(redirectUri)) return next.url
  }
  throw new Error(`more than ${String(MAX_STEPS)} steps from ${authorization.origin}`)
}

function answerOf(url: URL, body: string, user: string): Next {
  const token = /name="token" value="([^"]+)"/.exec(body)?.[1]
  if (token !== undefined) return { url, form: new URLSearchParams({ token, decision: 'allow' }) }
  const action = /<form[^>]*\baction="([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&')
  if (action === undefined) throw new Error(`${url.pathname}: ${body.slice(0, 500)}`)
  const fields: Record<string, string> = body.includes('name="accept"')
    ? { code: /name="code" value="([^"]*)"/.exec(body)?.[1] ?? '', accept: 'Yes' }
    : { username: user, password: user }
  return { url: new URL(action, url), form: new URLSearchParams(fields) }
}

/** The button to press on each page: a relay's consent, the demo's login, Keycloak's consent, Keycloak's login. */
const BUTTONS = 'button[value=allow], button[name=user][value=alice], [name=accept], #kc-login'

/**
 * Logs in as alice in Chromium.
 * @param pressed receives the name of the button pressed on each page.
 */
export const inBrowser =
  (page: Page, pressed: string[] = []): UserAgent =>
  async (authorization) => {
    const redirectUri = authorization.searchParams.get('redirect_uri') ?? ''
    const url = new URL(authorization)
    // With a login_hint, the demo's identity provider shows no page.
    url.searchParams.delete('login_hint')
    const back = page.waitForRequest((request) => request.url().startsWith(redirectUri))
    // Nothing listens at the client's redirect URI.
    await page.goto(url.href).catch(() => undefined)
    pressed.push(...(await answerPages(page, back)))
    return new URL((await back).url())
  }

/** Answers pages as alice until `back` resolves (a request or page of the client). Returns the pressed buttons. */
export async function answerPages(page: Page, back: Promise<unknown>): Promise<readonly string[]> {
  const pressed: string[] = []
  let isBack = false
  const over = back.then(() => void (isBack = true))
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const button = page.locator(BUTTONS).first()
    await Promise.race([over, button.waitFor()])
    if (isBack) return pressed
    const before = page.url()
    const user = page.locator('#username')
    if ((await user.count()) > 0) {
      await user.fill('alice')
      await page.locator('#password').fill('alice')
    }
    pressed.push((await button.getAttribute('name')) ?? '')
    // The final URL may have no listener.
    await button.click({ noWaitAfter: true }).catch(() => undefined)
    await Promise.race([
      over,
      page.waitForURL((url) => url.href !== before, { waitUntil: 'commit' }).catch(() => undefined),
    ])
  }
  throw new Error(`more than ${String(MAX_STEPS)} pages`)
}
