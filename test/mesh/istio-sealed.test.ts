// Sealed routes of a real Istio mesh: they work, and conditions that would silently open other routes close these.

import { Agent, request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { AnyObject } from '../../testing/api-call.js'
import { ADDRESS } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { service } from '../support/guardrails.js'
import { initialize, send } from '../support/http.js'
import { proxyBackend } from '../support/resources.js'
import { keySet, newKey, type SigningKey } from '../support/tokens.js'
import { type GuardedParties, startGuardedParties } from './support/guarded-parties.js'
import { edge, hostOf, type Istio, PORT, route, serviceTo, startIstio } from './support/istio.js'
import { callers, guard, issuedToken, newPrompt, sendChat } from './support/sealed-routes.js'
import { translateFor } from './support/translate.js'

const ORIGIN = `http://127.0.0.1:${String(PORT)}`
const GRPC_PORT = 18_005
const PATHS = ['/api', '/v1/chat/completions', '/both']

let parties: GuardedParties
let idp: DocumentServer
let key: SigningKey
let mesh: Istio
let gatehouse: Gatehouse
let manifests: readonly AnyObject[]
let seal: string
/** Keeps a connection that was opened before Gatehouse's manifests were applied. */
let early: Agent

beforeAll(async () => {
  key = await newKey('k1')
  ;[parties, idp, mesh] = await Promise.all([
    startGuardedParties(),
    startDocumentServer(),
    startIstio(),
  ])
  idp.serve('/jwks', keySet(key))
  const apiPort = await mesh.service('api', parties.api.port)
  const routes = [
    route('api', '/api', 'api', apiPort),
    route('llm', '/v1', 'llm', await mesh.service('llm', parties.llm.port)),
    route('both', '/both', 'api', apiPort, { name: 'chat' }),
    route('public', '/public', 'api', apiPort),
  ]
  await mesh.api.apply(...serviceTo('gatehouse', GRPC_PORT, 'grpc'), ...routes)
  gatehouse = await startGatehouse({
    command: 'serve',
    resources: [
      edge,
      ...routes,
      ...['api', 'both'].map((name) => callers(name, idp)),
      ...['llm', 'both'].map(guard),
      proxyBackend('idp', idp),
      ...service('guardrail', parties.webhook.port),
    ],
    flags: ['--for', 'istio', '--grpc', `${ADDRESS}:${String(GRPC_PORT)}`],
  })
  const connect = `${hostOf('gatehouse')}:${String(GRPC_PORT)}`
  const printed = await translateFor('istio', '--sealed', gatehouse.folder, '--connect', connect)
  manifests = parseAllDocuments(printed).map((document) => document.toJS() as AnyObject)
  const secret = manifests.find(({ kind }) => kind === 'Secret') as
    { stringData: { seal: string } } | undefined
  seal = secret?.stringData.seal ?? ''
  await gatehouse.write('seal.yaml', ...manifests.filter(({ kind }) => kind === 'Secret'))
  early = new Agent({ keepAlive: true, maxSockets: 1 })
  await eventually(async () => {
    expect(await statusByEarly('/api')).toBe(200)
  }, 90_000)
  await restore()
  // Before that, the routes were open.
  parties.forget()
}, 300_000)

afterAll(async () => {
  early.destroy()
  await gatehouse.close()
  await mesh.close()
  await Promise.all([parties.close(), idp.close()])
})

/** Applies the printed manifests, and waits until all of them are in force. */
async function restore(): Promise<void> {
  await mesh.api.apply(...manifests)
  await eventually(async () => {
    for (const path of PATHS) expect((await chat(path)).status).toBe(200)
    expect((await send(ORIGIN, '/api', initialize)).status).toBe(401)
  }, 60_000)
}

const chat = async (path: string, content = newPrompt()) =>
  sendChat({ origin: ORIGIN, path }, await issuedToken(key), content)

const statusByEarly = (path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const outgoing = httpRequest(ORIGIN + path, { agent: early }, (incoming) => {
      incoming.resume().on('end', () => resolve(incoming.statusCode ?? 0))
    })
    outgoing.on('error', reject).end()
  })

test('requests pass, and no backend sees the marks', async () => {
  const { requests } = parties.api
  requests.length = 0
  for (const path of PATHS) expect((await chat(path)).status).toBe(200)
  expect(requests).toHaveLength(2)
  const names = requests.flatMap(({ headers }) => Object.keys(headers))
  expect(names.filter((name) => name.startsWith('x-gatehouse'))).toEqual([])
})

test.each(['x-gatehouse-passed', 'x-gatehouse-seen'])(
  'a mark (%s) from outside is removed, even the right one',
  async (name) => {
    const { requests } = parties.api
    requests.length = 0
    for (const mark of ['guessed', seal]) {
      const answer = await send(ORIGIN, '/api', { ...initialize, headers: { [name]: mark } })
      expect(answer.status).toBe(401)
    }
    expect(requests).toEqual([])
  },
)

test('a connection from before the filters does not reach a backend', async () => {
  const before = parties.api.requests.length
  expect([401, 503]).toContain(await statusByEarly('/api'))
  expect(parties.api.requests).toHaveLength(before)
})

test('a rule that is named like a protected one is checked by its policy, and opens nothing', async () => {
  const apiPort = (await mesh.api.get('v1', 'Service', 'api')) as {
    spec: { ports: { port: number }[] }
  }
  const port = apiPort.spec.ports[0]?.port ?? 0
  const other = route('other', '/other', 'api', port, { name: 'default.api.1' })
  await mesh.api.apply(other)
  await eventually(async () => {
    expect((await chat('/other')).status).toBe(403)
  }, 60_000)
  expect((await send(ORIGIN, '/api', initialize)).status).toBe(401)
  expect((await chat('/api')).status).toBe(200)
  await mesh.api.delete(other)
})

describe('what opens other routes', () => {
  const filter = (): AnyObject => {
    const found = manifests.find(({ kind }) => kind === 'EnvoyFilter')
    if (found === undefined) throw new Error('no EnvoyFilter was printed')
    return found
  }
  const changed = (from: string, to: string): AnyObject => {
    const text = JSON.stringify(filter())
    expect(text).toContain(from)
    return JSON.parse(text.replaceAll(from, to)) as AnyObject
  }
  const apply = (object: () => AnyObject) => () => mesh.api.apply(object())

  test.each<[string, () => Promise<void>, readonly string[]]>([
    ['an EnvoyFilter that is deleted', () => mesh.api.delete(filter()), PATHS],
    [
      'one that names another Gateway',
      apply(() => changed('"kind":"Gateway","name":"edge"', '"kind":"Gateway","name":"egde"')),
      PATHS,
    ],
    [
      'one with misspelt names of routes',
      apply(() => changed('"name":"default.api.', '"name":"default.aip.')),
      ['/api'],
    ],
    [
      'one with a misspelt name of a filter in its routes',
      apply(() => changed('"gatehouse.ext_authz":', '"gatehouse.ext_autz":')),
      ['/api', '/both'],
    ],
    [
      'one that enables no webhooks',
      apply(() => changed('"gatehouse.ext_proc":', '"gatehouse.ext_porc":')),
      ['/v1/chat/completions', '/both'],
    ],
  ])('%s: 503, and nothing reaches a backend', async (_, change, paths) => {
    await change()
    await eventually(async () => {
      for (const path of paths) expect((await chat(path)).status).toBe(503)
    }, 60_000)
    // The mesh cuts off what it still serves: such a chat may have been asked about and reach the LLM nevertheless.
    const { requests } = parties.api
    const before = requests.length
    const prompt = newPrompt()
    for (const path of paths) {
      expect((await chat(path, prompt)).status).toBe(503)
      expect([400, 401, 503]).toContain((await send(ORIGIN, path, initialize)).status)
    }
    expect(parties.prompts()).not.toContain(prompt)
    const bodies = requests.slice(before).map(({ body }) => body)
    expect(bodies.filter((body) => body === initialize.body || body.includes(prompt))).toEqual([])
    expect(parties.unasked()).toEqual([])
    await restore()
  })
})
