// serve --kubernetes --provision with TLS: a guarded stream that is open while its HTTPRoute or its Gateway is deleted. The
// Envoy of a deleted Gateway has no rights any more.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { EnvoyChild } from '../../src/cli/run-envoy/child.js'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { type Backend, startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import {
  answerJson,
  both,
  chat,
  completion,
  guardedRoute,
  hook,
  sample,
} from '../support/guardrails.js'
import { openGuardedStream } from '../support/open-stream.js'
import { gateway, httpRoute, prefix } from '../support/resources.js'
import { startCreatedEnvoy } from './support/created-envoy.js'
import { endpointSlice, gatewayClass, inNamespace, service } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

const AUDIENCE = 'gatehouse.infra.svc'
const NAMESPACE = 'tenant'

let api: ApiServer
let replica: Replica
let envoy: EnvoyChild
let [llm, webhook]: Backend[] = []
let folder: string
let url: string

const route = httpRoute('chat', {
  rules: [{ matches: [prefix('/chat')], backendRefs: [{ name: 'llm', port: 80 }] }],
})

beforeEach(async () => {
  api = await apiServerFor()
  ;[llm, webhook] = [
    await startBackend('llm', { host: ADDRESS }),
    await startBackend('webhook', { host: ADDRESS }),
  ]
  llm.answer(answerJson(completion('hello')))
  webhook.answer(sample)
  const port = await freePort()
  url = `http://127.0.0.1:${String(port)}/chat`
  const [, policy = {}] = guardedRoute('/chat', both(hook('webhook')))
  await api.apply(gatewayClass(), {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: NAMESPACE },
  })
  const objects = [
    gateway([port]),
    service('llm'),
    endpointSlice('llm', [{ address: ADDRESS, port: llm.port }]),
    service('webhook'),
    endpointSlice('webhook', [{ address: ADDRESS, port: webhook.port }]),
    route,
    policy,
  ]
  await api.apply(...objects.map((object) => inNamespace(NAMESPACE, object)))
  const grpc = `${ADDRESS}:${String(await freePort())}`
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-streams-'))
  const own = selfSigned(AUDIENCE)
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  await Promise.all([writeFile(cert, own.cert), writeFile(key, own.key)])
  replica = await startReplica({
    kubeconfig: await api.kubeconfig(),
    grpc,
    flags: [
      '--provision',
      '--connect',
      grpc,
      '--connect-tls',
      AUDIENCE,
      '--connect-ca',
      cert,
      '--grpc-tls-cert',
      cert,
      '--grpc-tls-key',
      key,
    ],
  })
  envoy = await startCreatedEnvoy(api, {
    namespace: NAMESPACE,
    audience: AUDIENCE,
    folder: join(folder, 'envoy'),
  })
  await eventually(async () => expect(await ask()).toBe(200), 60_000)
}, 180_000)

afterEach(async () => {
  await envoy.stop()
  await replica.stop()
  await Promise.all([llm?.close(), webhook?.close()])
  await api.close()
  await rm(folder, { recursive: true })
})

/** The status of a chat; 0 if nobody listens. */
async function ask(): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const asked = fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: chat('hello'),
  })
  return asked.then(
    ({ status }) => status,
    () => 0,
  )
}

test.each([
  ['HTTPRoute', route],
  ['Gateway', gateway([80])],
])('a stream goes on when its %s is deleted, guarded to its end', async (_, object) => {
  const stream = await openGuardedStream(llm as Backend, url)
  llm?.answer(answerJson(completion('hello')))
  await api.delete(inNamespace(NAMESPACE, object))
  await eventually(async () => expect(await ask()).not.toBe(200), 60_000)
  await stream.expectGuardedEnd()
})
