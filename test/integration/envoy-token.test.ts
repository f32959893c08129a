// An Envoy with a token sends it with its calls to Gatehouse, and the new one after the kubelet has renewed it.

import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startEnvoy } from '../../src/cli/run-envoy/child.js'
import { bootstrapJson, buildBootstrap } from '../../src/xds/bootstrap/bootstrap.js'
import { tokenSecret } from '../../src/xds/bootstrap/token-filters.js'
import { eventually } from '../../testing/eventually.js'
import { selfSigned } from '../support/certificates.js'
import { envoyPath } from '../support/envoy.js'
import { temporaryFolder } from '../support/program.js'
import { writeToken } from '../support/token-folder.js'

const NAME = 'gatehouse.example'
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** A server that answers each call with UNAVAILABLE. */
async function startRecorder() {
  const tokens: unknown[] = []
  const pair = selfSigned(NAME)
  const server = createSecureServer(pair)
  server.on('stream', (stream, headers) => {
    // Health checks have none.
    if (headers[':path']?.startsWith('/grpc.health') !== true)
      tokens.push(headers['x-gatehouse-token'])
    stream.on('error', () => undefined)
    const answer = { 'content-type': 'application/grpc', 'grpc-status': '14' }
    stream.respond(answer, { endStream: true })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { tokens, pem: pair.cert, port: (server.address() as AddressInfo).port }
}

test('an Envoy sends its token, and the renewed one', async () => {
  const { tokens, pem, port } = await startRecorder()
  const folder = await temporaryFolder()
  const secretFile = join(folder, 'token.yaml')
  const tokenFolder = join(folder, 'run')
  await writeFile(secretFile, JSON.stringify(tokenSecret(join(tokenFolder, 'token'))))
  await writeToken(tokenFolder, 'first')
  const envoy = await startEnvoy({
    envoyPath: envoyPath(),
    bootstrap: bootstrapJson(
      buildBootstrap({
        nodeCluster: 'shop/gw',
        nodeId: 'envoy',
        envoyAdmin: { type: 'unix', path: join(folder, 'admin.sock') },
        connection: {
          address: { type: 'tcp', host: '127.0.0.1', port },
          tls: { ca: { pem }, serverName: NAME, token: { secretFile, folder: tokenFolder } },
        },
      }),
    ),
    logger: quiet,
    concurrency: 1,
  })
  onTestFinished(async () => void (await envoy.stop()))
  await eventually(() => expect(tokens).toContain('first'), 30_000)
  await writeToken(tokenFolder, 'second')
  await eventually(() => expect(tokens.at(-1)).toBe('second'), 30_000)
  // A call is never made without a token.
  expect(new Set(tokens)).toEqual(new Set(['first', 'second']))
})
