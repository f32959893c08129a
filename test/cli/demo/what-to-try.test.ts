// What the demo prints once it is up.

import { expect, test } from 'vitest'
import { createPrint } from '../../../src/cli/demo/print.js'
import type { DemoStack } from '../../../src/cli/demo/stack.js'
import { printWhatToTry } from '../../../src/cli/demo/what-to-try.js'

function printed(admin: string): string {
  let text = ''
  const identityProvider = { issuer: 'http://127.0.0.1:9000/', origin: 'http://127.0.0.1:9000' }
  const stack = {
    origin: 'http://127.0.0.1:8080',
    admin,
    envoyAdmin: undefined,
    folder: '/tmp/demo',
    parties: { identityProvider, llm: { host: '127.0.0.1', port: 4000 } },
  } as DemoStack
  printWhatToTry(
    stack,
    createPrint((part) => (text += part), false),
  )
  return text
}

test.each([
  ['127.0.0.1:18001', /status page +http:\/\/127\.0\.0\.1:18001\/\n/],
  [
    'unix:/run/admin.sock',
    /status page +curl --unix-socket \/run\/admin\.sock http:\/\/localhost\/status\n/,
  ],
])('the status page at %s can be opened as printed', (admin, expected) => {
  expect(printed(admin)).toMatch(expected)
})
