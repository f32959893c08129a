// What the screen at start-up is made from, and that nothing depends on it.

import { expect, test } from 'vitest'
import { createStartScreen, type FirstPublication } from '../../../src/cli/report/start-report.js'
import type { Snapshot } from '../../../src/control/publish/build-snapshot.js'
import { atOnce } from '../../../src/kit/turns.js'
import { parseCommandLine, type Settings } from '../../../src/ops/settings/settings.js'
import { chain, forward, ir, route } from '../../support/ir.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'

const addresses = {
  admin: '127.0.0.1:18001',
  status: '127.0.0.1:18001',
  grpc: undefined,
  envoyAdmin: { type: 'unix', path: '/run/envoy.sock' },
} as const

const first: FirstPublication = {
  snapshot: {
    revision: 'r1',
    ir: ir({
      port: 8080,
      chains: [chain('default/gw/8080', [route('/', forward('b'), { name: 'default/a/0/0' })])],
      destinations: [],
    }),
  } as Snapshot,
  state: {},
  remote: new Map(),
  resources: () => [],
}

function settings(...flags: readonly string[]): Settings {
  const line = parseCommandLine(['serve', '--resources', '.', ...flags], {})
  if (line.type !== 'settings') throw new Error(JSON.stringify(line))
  return line.settings
}

function screen(given: Partial<typeof addresses> | object, ...flags: readonly string[]): string {
  let text = ''
  const { logger } = recordingLogger()
  const terminal = { columns: 100, rows: 40, hasColour: false, write: (it: string) => (text += it) }
  const parts = { terminal, settings: settings(...flags), logger }
  atOnce(createStartScreen({ ...parts, addresses: () => ({ ...addresses, ...given }) })(first))
  return text
}

test('commands lead to the addresses as bound', () => {
  const shown = screen({})
  expect(shown).toContain('Envoy admin  unix:/run/envoy.sock\n')
  expect(shown).toContain('open http://127.0.0.1:18001/\n')
  expect(shown).toContain(
    'gatehouse explain --admin 127.0.0.1:18001 --request "POST https://HOST/PATH"\n',
  )
})

test('a status page of its own, on a socket and with a token, is named as such', () => {
  const flags = ['--admin-token-file', '/run/token']
  const shown = screen({ status: 'unix:/run/status.sock' }, ...flags)
  expect(shown).toContain('admin        http://127.0.0.1:18001/\n')
  expect(shown).toContain('curl --unix-socket /run/status.sock http://localhost/status\n')
  expect(shown).toContain('explain --admin unix:/run/status.sock --admin-token-file FILE --request')
})

test('without a status page no command needs one', () => {
  expect(screen({ status: undefined })).not.toContain('Next')
})

test('a terminal that cannot be written to ends nothing', () => {
  const { logger, lines } = recordingLogger()
  const write = (): never => {
    throw new Error('EIO')
  }
  const terminal = { columns: 100, rows: 40, hasColour: false, write }
  const show = createStartScreen({
    terminal,
    logger,
    settings: settings(),
    addresses: () => addresses,
  })
  atOnce(show(first))
  expect(lines).toMatchObject([
    { level: 'error', message: 'the start screen could not be printed' },
  ])
})
