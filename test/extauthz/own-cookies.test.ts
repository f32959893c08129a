// A relay's cookies are not forwarded to the backend; all other cookies are, unchanged.

import { expect, test } from 'vitest'
import { withoutOwnCookies } from '../../src/extauthz/own-cookies.js'

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
