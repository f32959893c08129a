// The table key of an ext_proc stream, from the name of Envoy's route: which names denote a key, and that no other
// opens a stream.

import { create, toBinary } from '@bufbuild/protobuf'
import { status } from '@grpc/grpc-js'
import { afterEach, describe, expect, test } from 'vitest'
import { createProcessService } from '../../src/extproc/process-service.js'
import { readersByMesh, type ReadFirstMessage } from '../../src/extproc/route-key.js'
import { ProcessingRequestSchema } from '../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { entry, KEY, PRM } from './support/entries.js'
import { guardrails } from './support/guards.js'
import { replyIn, request } from './support/messages.js'
import { buildProcTable } from './support/proc-table.js'
import { type Message, type ProcServer, silent, startProcServer } from './support/stream.js'

const read = readersByMesh['envoy-gateway']
const keysOf = (bytes: Buffer) => read(bytes).keys

const FILTER = 'envoy.filters.http.ext_proc'

const named = (name: unknown, filter = FILTER): Message => ({
  ...request('GET', PRM),
  attributes: { [filter]: { 'xds.route_name': name, 'xds.other': 1 } } as never,
})

const bytesOf = (message: Message): Buffer =>
  Buffer.from(toBinary(ProcessingRequestSchema, create(ProcessingRequestSchema, message)))

describe('a name of Envoy Gateway', () => {
  test.each([
    ['httproute/default/mcp/rule/0/match/0/*', 'default/mcp/0'],
    ['httproute/default/mcp/rule/12/match/-1/mcp_example_com', 'default/mcp/12'],
    ['httproute/team-a/rule.0/rule/1/match/3/*', 'team-a/rule.0/1'],
  ])('%s is %s', (name, key) => {
    expect(keysOf(bytesOf(named(name)))).toEqual([key])
  })

  test.each([
    'grpcroute/default/mcp/rule/0/match/0/*',
    'httproute/default/mcp/rule/0/match/0',
    'httproute/default/mcp/rule/0/match/0/*/cors-preflight',
    'httproute/default/mcp/rule/00000/match/0/*',
    'httproute/default/mcp/rule/-1/match/0/*',
    'httproute/default/a/b/rule/0/match/0/*',
    'x/httproute/default/mcp/rule/0/match/0/*',
    'httproute//mcp/rule/0/match/0/*',
    'default/mcp/0',
    '',
    7,
    null,
    { value: 'httproute/default/mcp/rule/0/match/0/*' },
  ])('%j is none', (name) => {
    expect(keysOf(bytesOf(named(name)))).toEqual([])
  })

  test('of another filter is none', () => {
    expect(keysOf(bytesOf(named('httproute/default/mcp/rule/0/match/0/*', 'lua')))).toEqual([])
  })

  test('that appears twice is ignored', () => {
    const one = bytesOf(named('httproute/default/mcp/rule/0/match/0/*'))
    expect(keysOf(Buffer.concat([one, one]))).toEqual([])
  })

  test.each([
    ['10.1.2.3:4711', '10.1.2.3'],
    ['[2001:db8::7]:4711', '2001:db8::7'],
    [undefined, ''],
  ])('comes with the client %s', (source, client) => {
    const fields = { ...(source && { 'source.address': source }), 'xds.route_name': 'x' }
    const message = { ...request('GET', PRM), attributes: { [FILTER]: fields } }
    expect(read(bytesOf(message)).client).toBe(client)
  })

  test('of a message that is none throws', () => {
    expect(() => keysOf(Buffer.from([0x4a, 0x7f]))).toThrow(RangeError)
  })
})

describe('a name of Istio', () => {
  const keyOf = (name: string) => readersByMesh.istio(bytesOf(named(name))).keys
  test.each([
    ['default.mcp.0', 'default/mcp/0'],
    ['team-a.api.v2.12', 'team-a/api.v2/12'],
  ])('%s is %s', (name, key) => {
    expect(keyOf(name)).toEqual([key])
  })

  test.each(['main', 'default.0', 'default.mcp.x', 'default.mcp.00000', 'default/mcp/0', '.mcp.0'])(
    '%j is none',
    (name) => {
      expect(keyOf(name)).toEqual([])
    },
  )
})

describe('a stream without call metadata', () => {
  const closing: ProcServer[] = []
  afterEach(async () => {
    await Promise.all(closing.splice(0).map((server) => server.close()))
  })

  async function serve(readFirstMessage?: ReadFirstMessage): Promise<ProcServer> {
    const table = buildProcTable([
      entry(),
      entry({ key: 'default/other/0', route: 'default/other' }),
    ])
    const service = createProcessService({
      guardrails: guardrails(),
      table: () => table,
      callRemote: () => Promise.reject(new Error('no call expected')),
      readFirstMessage,
      now: () => 0,
      logger: silent,
    })
    const server = await startProcServer(service)
    closing.push(server)
    return server
  }

  const good = named(`httproute/${KEY.replace(/\/0$/, '')}/rule/0/match/0/*`)

  test('is for the route that its first message names', async () => {
    const stream = (await serve(read)).open()
    stream.send(good)
    expect(replyIn(await stream.next()).status).toBe(200)
  })

  test.each([
    ['a route that is not known', named('httproute/default/unknown/rule/0/match/0/*')],
    ['no route', request('GET', PRM)],
  ])('that names %s is refused', async (_, message) => {
    const stream = (await serve(read)).open()
    stream.send(message)
    expect(replyIn(await stream.next()).status).toBe(503)
    expect((await stream.end).code).toBe(status.UNAVAILABLE)
  })

  test('is refused where names are not read', async () => {
    const stream = (await serve()).open()
    stream.send(good)
    expect((await stream.end).code).toBe(status.UNAVAILABLE)
  })

  test('that ends before its first message does not end well', async () => {
    const stream = (await serve(read)).open()
    stream.halfClose()
    expect(replyIn(await stream.next()).status).toBe(503)
    expect((await stream.end).code).toBe(status.UNAVAILABLE)
  })

  test('a key in the metadata counts, whatever the name is', async () => {
    const stream = (await serve(read)).open('default/unknown/0')
    stream.send(good)
    expect((await stream.end).code).toBe(status.UNAVAILABLE)
  })
})
