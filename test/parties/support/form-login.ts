// A user agent that fills in a login page: follows redirects with cookies and posts the first form with name and
// password.

const MAX_STEPS = 20

/**
 * Resolves to the redirect URI with its parameters, without requesting it. The URL's login_hint is both user name and
 * password.
 */
export async function visitForm(authorization: URL): Promise<URL> {
  const user = authorization.searchParams.get('login_hint') ?? ''
  const redirectUri = authorization.searchParams.get('redirect_uri') ?? ''
  const cookies = new Map<string, string>()
  let url = authorization
  let body: URLSearchParams | undefined
  for (let step = 0; step < MAX_STEPS; step++) {
    const response = await fetch(url, {
      redirect: 'manual',
      method: body === undefined ? 'GET' : 'POST',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(body !== undefined && { body }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (name !== undefined && value !== undefined) cookies.set(name, value)
    }
    const page = await response.text()
    const location = response.headers.get('location')
    if (location === null && body !== undefined) throw new Error('the login was refused')
    body = location === null ? new URLSearchParams({ username: user, password: user }) : undefined
    url = new URL(location ?? formAction(page), url)
    if (url.href.startsWith(redirectUri)) return url
  }
  throw new Error(`more than ${String(MAX_STEPS)} steps from ${authorization.origin}`)
}

function formAction(page: string): string {
  const action = /<form[^>]*\baction="([^"]+)"/.exec(page)?.[1]
  if (action === undefined) throw new Error('there is no form on the login page')
  return action.replaceAll('&amp;', '&')
}
