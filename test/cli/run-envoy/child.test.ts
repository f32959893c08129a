// The life of an Envoy child process, with a script as a substitute.

import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startEnvoy } from '../../../src/cli/run-envoy/child.js'
import { exitSentence, waitUntilLive } from '../../../src/cli/run-envoy/wait-until-live.js'
import { eventually } from '../../../testing/eventually.js'
import { startHttpServer } from '../../support/http-server.js'
import { program } from '../../support/program.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'

async function start(script: string) {
  const { logger, lines } = recordingLogger()
  const child = await startEnvoy({
    envoyPath: await program(script),
    bootstrap: { admin: {} },
    logger,
    concurrency: 2,
  })
  return { child, lines }
}

/** Envoy's arguments are: --config-path FILE … */
const SAY_FILE = 'echo "[[info|x]] $2" >&2; echo "[[info|x]] $*" >&2; cat "$2" >&2; echo >&2'

test('it gets its bootstrap in a file that is gone when it has ended', async () => {
  const { child, lines } = await start(`${SAY_FILE}; exit 3`)
  expect(await child.exited).toMatchObject({ code: 3, signal: null })
  const [file, args, content] = lines.map(({ message }) => message.replace('envoy: ', ''))
  expect(content).toBe('{"admin":{}}')
  expect(args).toMatch(/--disable-hot-restart .*--concurrency 2/)
  expect(existsSync(file ?? '')).toBe(false)
})

test('its last error is the reason of its end', async () => {
  const { child } = await start('echo "[[critical|main]] cannot bind 127.0.0.1:1" >&2; exit 1')
  expect(exitSentence(await child.exited)).toBe('Envoy ended with code 1: cannot bind 127.0.0.1:1')
})

test('stop asks with SIGTERM', async () => {
  const { child, lines } = await start(
    'trap "exit 0" TERM; echo "[[info|x]] up" >&2; while :; do sleep 0.01; done',
  )
  await eventually(() => {
    expect(lines).toHaveLength(1)
  })
  expect(await child.stop()).toMatchObject({ code: 0 })
})

test('stop kills what does not listen', async () => {
  const { child, lines } = await start(
    'trap "" TERM; echo "[[info|x]] up" >&2; while :; do sleep 0.01; done',
  )
  await eventually(() => {
    expect(lines).toHaveLength(1)
  })
  expect(await child.stop(50)).toMatchObject({ signal: 'SIGKILL' })
})

test('a binary that is not there rejects', async () => {
  const options = { envoyPath: '/nonexistent', bootstrap: {}, logger: recordingLogger().logger }
  await expect(startEnvoy(options)).rejects.toThrow(/ENOENT/)
})

const placeOf = (port: number) => ({ type: 'tcp', host: '127.0.0.1', port }) as const

test('it is live once its admin address says so', async () => {
  let asked = 0
  const admin = await startHttpServer((_, response) => {
    response.writeHead(++asked < 3 ? 503 : 200).end()
  })
  const { child } = await start('exec sleep 60')
  await waitUntilLive(child, placeOf(admin.port), 5_000)
  expect(asked).toBe(3)
  await child.stop()
  await admin.close()
})

test('waiting ends when it ends, or when it takes too long', async () => {
  const gone = await start('echo "[[error|main]] bad config" >&2; exit 1')
  await expect(waitUntilLive(gone.child, placeOf(1), 5_000)).rejects.toThrow(/bad config/)
  const { child } = await start('exec sleep 60')
  await expect(waitUntilLive(child, placeOf(1), 60)).rejects.toThrow(/not ready after/)
  await child.stop()
})
