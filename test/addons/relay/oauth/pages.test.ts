// The consent page shows a client's own name as text that stays within its place on the page.

import { expect, test } from 'vitest'
import { consentPage } from '../../../../src/addons/relay/oauth/pages.js'
import { relayOf } from './support.js'

const shown = (name: string): string =>
  /<strong>(?:<bdi>)?(.*?)(?:<\/bdi>)?<\/strong> wants to use/.exec(
    consentPage({
      relay: relayOf(),
      client: { id: 'a', name, redirectUris: ['http://127.0.0.1/cb'] },
      redirectUri: 'http://127.0.0.1/cb',
      scopes: [],
      token: 't',
    }),
  )?.[1] ?? ''

test.each([
  ['an ordinary name', 'Tester 2', 'Tester 2'],
  ['markup', '<a href="x">&\'', '&#60;a href=&#34;x&#34;&#62;&#38;&#39;'],
  ['characters that reverse the text around them', '\u202eabc\u2066', 'abc'],
  ['a letter with two accents', 'e\u0301\u0323', 'e\u0301\u0323'],
  ['marks that would cover the lines above', `a${'\u0301'.repeat(120)}b`, 'a\u0301\u0301b'],
  ['marks with something unseen between them', `a${'\u0301\u200b'.repeat(9)}`, 'a\u0301\u0301'],
  ['letters that are not seen', 'a\u3164\u115f\ufe0fb', 'ab'],
  ['nothing that is seen', '\u200b \u3164\u00a0\u2800', 'A client without a name'],
  ['blanks around it', '  Tester \n', 'Tester'],
])('%s', (_, name, text) => {
  expect(shown(name)).toBe(text)
})
