// A relay's cookies are not forwarded to the backend; all other cookies are, unchanged.

import { describe, expect, test } from 'vitest'
import { withoutOwnCookies } from '../../src/extauthz/own-cookies.js'
import { RELAY_COOKIES_KEY } from '../../src/model/names.js'
import { checker, checkRequest, entry } from './helpers.js'

test.each<[string | readonly string[] | undefined, string | undefined]>([
  [undefined, undefined],
  ['a=b; c="d e"', undefined],
  ['gatehouse-login-x=y', ''],
  ['a=b; __Host-gatehouse-browser=y; c=d', 'a=b; c=d'],
  ['a=b;gatehouse-login-x=y;c=gatehouse-', 'a=b; c=gatehouse-'],
  [['a=b', '__Host-gatehouse-consent-x=y', 'c=d'], 'a=b; c=d'],
  ['my-gatehouse-x=y', 'my-gatehouse-x=y'],
])('%j → %j', (header, left) => {
  expect(withoutOwnCookies(header)).toBe(left)
})

test('the pages of a relay get its cookies, on their own paths alone', async () => {
  const { check } = checker([entry({ servesDocuments: true })])
  const headers = [['cookie', '__Host-gatehouse-browser=y']] as const
  const answer = await check({ path: '/mcp', headers })
  expect(answer).toMatchObject({ status: 200, set: [] })
  expect(answer.removed).not.toContain('cookie')
  expect(await check({ path: '/other', headers })).toMatchObject({ status: 403 })
})

describe('a check that only removes cookies', () => {
  const { check, observed } = checker([])
  const checked = (...headers: (readonly [string, string])[]) =>
    check({ key: RELAY_COOKIES_KEY, path: '/a;b//../%2f', headers })

  test.each([
    ['a=b; gatehouse-x=y', [['cookie', 'a=b', 'replaces']], []],
    ['__Host-gatehouse-x=y', [], ['cookie']],
    ['a=gatehouse-', [['cookie', 'a=gatehouse-', 'replaces']], []],
  ])('%s: allowed, whatever the path', async (cookie, set, removed) => {
    const answer = await checked(['authorization', 'Bearer x'], ['cookie', cookie])
    expect(answer).toMatchObject({ status: 200, set, metadata: undefined })
    expect(answer.removed.filter((name) => !name.startsWith('x-'))).toEqual(removed)
  })

  test('is not counted or logged', () => {
    expect(observed).toEqual({ decisions: [], audited: [], lines: [] })
  })

  test('is refused if it cannot be read', async () => {
    const request = checkRequest({ key: RELAY_COOKIES_KEY, headers: [['cookie', 'gatehouse-x=y']] })
    const message = Buffer.from(request)
    // The length of the last field now exceeds the message.
    const { status } = await check(message.subarray(0, -1))
    expect(status).toBeGreaterThanOrEqual(400)
  })
})
