// A person who logs in wherever a login leads: at a relay's page of consent, at the demo's identity provider, at Keycloak.

import type { Page } from 'playwright-core'
import type { UserAgent } from '../../support/clients/client-run.js'
import { ask, type CookieJar } from '../../support/clients/consenting-agent.js'

const MAX_STEPS = 20

interface Next {
  readonly url: URL
  readonly form?: URLSearchParams
}

/** Without a browser: follows redirects with cookies, and posts the forms. The user is the URL's login_hint, and the password. */
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

/** What is pressed on each page: consent of a relay, the demo's login, Keycloak's consent, Keycloak's login. */
const BUTTONS = 'button[value=allow], button[name=user][value=alice], [name=accept], #kc-login'

/** In Chromium, as alice. pressed: gets what was pressed on each page, by its name. */
export const inBrowser =
  (page: Page, pressed: string[] = []): UserAgent =>
  async (authorization) => {
    const redirectUri = authorization.searchParams.get('redirect_uri') ?? ''
    const url = new URL(authorization)
    // Otherwise the demo's identity provider shows no page.
    url.searchParams.delete('login_hint')
    const back = page.waitForRequest((request) => request.url().startsWith(redirectUri))
    // Nobody listens at the client's redirect URI.
    await page.goto(url.href).catch(() => undefined)
    pressed.push(...(await answerPages(page, back)))
    return new URL((await back).url())
  }

/** In a browser, as alice, until back has come: a request or a page of the client's. What was pressed. */
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
    // Nobody may listen where it leads in the end.
    await button.click({ noWaitAfter: true }).catch(() => undefined)
    await Promise.race([
      over,
      page.waitForURL((url) => url.href !== before, { waitUntil: 'commit' }).catch(() => undefined),
    ])
  }
  throw new Error(`more than ${String(MAX_STEPS)} pages`)
}
