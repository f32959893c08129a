// A user agent for a relay: follows redirects with cookies and answers the consent page as a person would.

const MAX_STEPS = 20

export interface Visit {
  /** The redirect URI with its parameters; it is not requested. */
  readonly end: URL
  /** The answers on the way to it. */
  readonly steps: readonly Step[]
}

export interface Step {
  readonly url: URL
  readonly method: string
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** Cookies by host, since browsers share cookies between ports. */
export type CookieJar = Map<string, Map<string, string>>

export interface Person {
  readonly decision?: 'allow' | 'deny'
  readonly cookies?: CookieJar
}

/** Resolves to the final redirect URI. Rejects on a page without a form. */
export async function visitConsenting(authorization: URL, person: Person = {}): Promise<URL> {
  return (await walk(authorization, person)).end
}

export async function walk(
  authorization: URL,
  { decision = 'allow', cookies = new Map() }: Person = {},
): Promise<Visit> {
  const redirectUri = authorization.searchParams.get('redirect_uri') ?? ''
  const steps: Step[] = []
  let next = { url: authorization, form: undefined as URLSearchParams | undefined }
  while (steps.length < MAX_STEPS) {
    const step = await ask(next.url, next.form, cookies)
    steps.push(step)
    const location = step.headers.get('location')
    const token = /name="token" value="([^"]+)"/.exec(step.body)?.[1]
    if (location === null && token === undefined)
      throw new Error(`${step.url.pathname} answered ${String(step.status)}: ${step.body}`)
    next =
      location === null
        ? { url: step.url, form: new URLSearchParams({ token: token ?? '', decision }) }
        : { url: new URL(location, step.url), form: undefined }
    if (next.url.href.startsWith(redirectUri)) return { end: next.url, steps }
  }
  throw new Error(`more than ${String(MAX_STEPS)} steps from ${authorization.origin}`)
}

/** Makes one request as a browser does, and stores its cookies in the jar. */
export async function ask(
  url: URL,
  form: URLSearchParams | undefined,
  cookies: CookieJar,
  headers: Readonly<Record<string, string>> = {},
): Promise<Step> {
  const jar = cookies.get(url.hostname) ?? new Map<string, string>()
  cookies.set(url.hostname, jar)
  const method = form === undefined ? 'GET' : 'POST'
  const answer = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
      ...(form !== undefined && { origin: url.origin }),
      ...headers,
    },
    ...(form !== undefined && { body: form }),
  })
  for (const cookie of answer.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
    if (/max-age=0(;|$)/i.test(cookie)) jar.delete(name)
    else jar.set(name, value)
  }
  return { url, method, status: answer.status, headers: answer.headers, body: await answer.text() }
}
