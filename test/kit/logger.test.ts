// The format of the program's own log lines, and what never appears in them.

import { expect, test } from 'vitest'
import { createLogger } from '../../src/kit/logger.js'

function recorder(level = 'info', pretty = false) {
  const lines: string[] = []
  return { lines, logger: createLogger({ level, pretty, write: (text) => lines.push(text) }) }
}

test('a line is one JSON object with an ISO time, the level as a word, the message and the fields', () => {
  const { lines, logger } = recorder()
  logger.warn({ route: 'default/mcp' }, 'key set is not available')
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
    route: 'default/mcp',
    msg: 'key set is not available',
  })
})

test('lines below the level are not written', () => {
  const { lines, logger } = recorder('warn')
  logger.info({}, 'not this')
  expect(lines).toEqual([])
})

test('tokens, cookies, keys and claims are redacted at the top and up to two levels below', () => {
  const { lines, logger } = recorder()
  const secret = 'eyJhbGciOi'
  logger.info(
    {
      authorization: secret,
      headers: { authorization: secret, cookie: secret, 'set-cookie': secret, host: 'gw.example' },
      request: { headers: { Authorization: secret, 'proxy-authorization': secret } },
      answer: { access_token: secret, refresh_token: secret, id_token: secret, token: secret },
      certificate: { privateKey: secret },
      jwt: { claims: { sub: secret } },
    },
    'a request',
  )
  expect(lines.join('')).not.toContain(secret)
  expect(lines.join('')).toContain('gw.example')
  expect(lines.join('')).toContain('[redacted]')
})

test('on a terminal the line is for people, and redacted as well', () => {
  const { lines, logger } = recorder('info', true)
  logger.info({ token: 'eyJhbGciOi', route: 'default/mcp' }, 'hello')
  expect(lines.join('')).toContain('hello')
  expect(lines.join('')).toContain('default/mcp')
  expect(lines.join('')).not.toContain('eyJhbGciOi')
  expect(() => JSON.parse(lines[0] ?? '') as unknown).toThrow()
})

test('an error is logged with its message and stack', () => {
  const { lines, logger } = recorder()
  logger.error({ err: new Error('it broke') }, 'a bug')
  const line = JSON.parse(lines[0] ?? '') as { err: { message: string; stack: string } }
  expect(line.err.message).toBe('it broke')
  expect(line.err.stack).toContain('logger.test')
})

test.each([undefined, true, false])(
  'a line for people has colours unless they are off: %s',
  (hasColour) => {
    const lines: string[] = []
    const logger = createLogger({
      level: 'info',
      pretty: true,
      write: (text) => lines.push(text),
      ...(hasColour !== undefined && { hasColour }),
    })
    logger.warn({}, 'key set is not available')
    expect(lines.join('').includes('\u001b[')).toBe(hasColour !== false)
  },
)
