// Probes of a mesh's routes: what counts as protected, and answers that hang, break off or are made up.

import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { probe, type ProbeResult } from '../../../../src/addons/mesh/controller/probe.js'
import type { ProbeTarget } from '../../../../src/addons/mesh/controller/probe-targets.js'
import { Prober } from '../../../../src/addons/mesh/controller/prober.js'
import { createAddressRules } from '../../../../src/kit/addresses/address-rules.js'
import { aboutRequest, createProbeSigns } from '../../../../src/kit/probe-signs.js'
import { selfSigned } from '../../../support/certificates.js'

const signs = createProbeSigns(() => new Uint8Array(32).fill(1), Date.now)
const allowed = [{ network: '127.0.0.1', prefix: 32 }]
const rules = createAddressRules({ scope: 'host', own: new Set(), allowed })

let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function served(listener: RequestListener): Promise<ProbeTarget> {
  server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return targetAt((server.address() as AddressInfo).port)
}

const targetAt = (port: number, address = '127.0.0.1'): ProbeTarget => ({
  id: 'one',
  gateway: { namespace: 'default', name: 'eg' },
  place: 'default/eg',
  address,
  port,
  isTls: false,
  host: 'app.example',
  path: '/app',
  method: 'GET',
  headers: { 'x-a': 'b' },
  keys: { authz: 'default/app/0' },
})

const ask = (
  target: ProbeTarget,
  signal = new AbortController().signal,
  direct = new Set<string>(),
): Promise<ProbeResult> => probe(target, { signs, rules, direct }, signal)

const about = aboutRequest('default/app/0', 'app.example', '/app')

/** Answers as Gatehouse does behind an Envoy. */
const proving: RequestListener = (request, response) => {
  const question = String(request.headers['gatehouse-probe'])
  const proof = signs.prove(question, 'ext_authz', about) ?? '-'
  response.writeHead(403, { 'gatehouse-probed': `${question} ${proof} -` }).end()
}

describe('a probe', () => {
  test('is proven by the refusal of Gatehouse, and only if every server was asked', async () => {
    const target = await served(proving)
    expect(await ask(target)).toEqual({ type: 'proven' })
    const guarded = { ...target, keys: { ...target.keys, proc: 'default/app/0' } }
    expect(await ask(guarded)).toMatchObject({
      type: 'unproven',
      problem: expect.stringContaining('without ext_proc') as unknown,
    })
  })

  test('is unproven by an answer of anything else, and by a proof of an earlier question', async () => {
    const earlier = signs.ask() ?? ''
    const old = `${earlier} ${signs.prove(earlier, 'ext_authz', about) ?? ''} -`
    const target = await served((_, response) => {
      response.writeHead(200, { 'gatehouse-probed': old }).end('open')
    })
    expect(await ask(target)).toMatchObject({ type: 'unproven' })
  })

  test('has no answer if Envoy cannot reach Gatehouse', async () => {
    const target = await served((_, response) => {
      response.writeHead(503).end()
    })
    expect(await ask(target)).toMatchObject({ type: 'silent' })
  })

  const failing =
    (headers: Record<string, string>): RequestListener =>
    (_, response) =>
      void response.writeHead(503, headers).end()
  const UPSTREAM = { 'x-envoy-upstream-service-time': '3' }

  test.each([
    ['a backend', UPSTREAM, [], 'unproven'],
    ['Envoy itself', {}, [], 'silent'],
    ['the closed address', { ...UPSTREAM, 'x-gatehouse-closed': '1' }, [], 'silent'],
    ['anything behind another proxy', UPSTREAM, Object.entries(UPSTREAM), 'silent'],
  ] as const)('finds a 5xx of %s', async (_, headers, ofRefusal, type) => {
    const direct = new Set<string>()
    const { signal } = new AbortController()
    const target = await served((request, response) => {
      for (const [name, value] of ofRefusal) response.setHeader(name, value)
      proving(request, response)
    })
    expect(await ask(target, signal, direct)).toEqual({ type: 'proven' })
    server?.removeAllListeners('request').on('request', failing(headers))
    expect(await ask(target, signal, direct)).toMatchObject({ type })
  })

  test('has no answer if the connection breaks, or nobody listens', async () => {
    const target = await served((request) => request.socket.destroy())
    expect(await ask(target)).toMatchObject({ type: 'silent' })
    expect(await ask(targetAt(9))).toMatchObject({ type: 'silent' })
  })

  test('has no answer if the answer hangs past its deadline', async () => {
    const target = await served(() => undefined)
    const { signal } = new AbortController()
    expect(
      await probe(target, { signs, rules, direct: new Set(), timeoutMs: 1 }, signal),
    ).toMatchObject({
      type: 'silent',
    })
  })

  test('ends when it is cancelled while an answer hangs', async () => {
    const ending = new AbortController()
    const target = await served(() => {
      ending.abort()
    })
    expect(await ask(target, ending.signal)).toMatchObject({ type: 'silent' })
  })

  test('of an HTTPS listener names its host, and does not need to know its authority', async () => {
    const { cert, key } = selfSigned('app.example')
    const names: string[] = []
    const tls = createTlsServer(
      { cert, key, SNICallback: (name, done) => (names.push(name), done(null)) },
      proving,
    )
    tls.listen(0, '127.0.0.1')
    await once(tls, 'listening')
    const { port } = tls.address() as AddressInfo
    expect(await ask({ ...targetAt(port), isTls: true })).toEqual({ type: 'proven' })
    expect(names).toEqual(['app.example'])
    tls.close()
  })

  test('goes to no address that the operator has not allowed', async () => {
    expect(await ask(targetAt(80, '169.254.169.254'))).toMatchObject({
      problem: expect.stringContaining('a link-local address') as unknown,
    })
  })
})

describe('the prober', () => {
  test.each([
    ['proven', { type: 'proven' }, undefined],
    ['open', { type: 'unproven', problem: 'answered 200' }, 'answered 200'],
    ['silent', { type: 'silent', problem: 'no answer' }, 'no answer'],
  ] as const)('says of a target that is %s what is wrong with it', async (_, result, problem) => {
    const target = targetAt(1)
    const prober = await swept(() => result)
    expect(prober.problemOf(target)).toBe(problem)
    await prober.close()
  })

  test('counts a proof for a minute if later probes have no answer', async () => {
    let now = 0
    let result: ProbeResult = { type: 'proven' }
    const prober = await swept(
      () => result,
      () => now,
    )
    result = { type: 'silent', problem: 'no answer' }
    now = 59_000
    await sweep(prober)
    expect(prober.problemOf(targetAt(1))).toBeUndefined()
    now = 61_000
    await sweep(prober)
    expect(prober.problemOf(targetAt(1))).toBe('no answer')
    await prober.close()
  })

  test.each([
    ["the second answer that may be a backend's", { mayBeOpen: true }, 'answered 503'],
    ['none that is missing', { isMute: true }, undefined],
    ['none of the closed address', {}, undefined],
  ] as const)('ends a proof with %s', async (_, kind, problem) => {
    let result: ProbeResult = { type: 'proven' }
    const prober = await swept(() => result)
    result = { type: 'silent', problem: 'answered 503', ...kind }
    await sweep(prober)
    expect(prober.problemOf(targetAt(1))).toBeUndefined()
    await sweep(prober)
    expect(prober.problemOf(targetAt(1))).toBe(problem)
    result = { type: 'proven' }
    await sweep(prober)
    expect(prober.problemOf(targetAt(1))).toBeUndefined()
    result = { type: 'silent', problem: 'answered 503', ...kind }
    await sweep(prober)
    expect(prober.problemOf(targetAt(1))).toBeUndefined()
    await prober.close()
  })

  test('spreads the probes of thousands of targets, and renews each within a minute', async () => {
    const all = Array.from({ length: 9_000 }, (_, index) => ({ ...targetAt(1), id: String(index) }))
    let [time, running, most] = [0, 0, 0]
    const begun: number[] = []
    const ended = new Promise<void>((resolve) => (onAll = resolve))
    const prober = new Prober({
      now: () => time,
      onWarning: () => undefined,
      onChange: () => undefined,
      wait: (milliseconds) => {
        time += milliseconds
        return Promise.resolve()
      },
      probe: async () => {
        begun.push(time)
        most = Math.max(most, ++running)
        await Promise.resolve()
        running -= 1
        if (begun.length === all.length) onAll()
        return { type: 'proven' }
      },
    })
    prober.setTargets(all)
    await ended
    await prober.close()
    expect(begun).toHaveLength(9_000)
    expect(most).toBeLessThanOrEqual(8)
    expect(begun.at(-1)).toBeGreaterThan(40_000)
    expect(begun.at(-1)).toBeLessThan(50_000)
    const inOneSecond = begun.filter((at) => at >= 20_000 && at < 21_000).length
    expect(inOneSecond).toBeLessThan(300)
  })

  test('probes new targets before the others, while a sweep is in progress', async () => {
    const known = Array.from({ length: 20 }, (_, index) => ({ ...targetAt(1), id: String(index) }))
    const added = { ...targetAt(1), id: 'added' }
    const begun: string[] = []
    const ended = new Promise<void>((resolve) => (onAll = resolve))
    const prober: Prober = new Prober({
      now: () => 0,
      onWarning: () => undefined,
      onChange: () => undefined,
      wait: () => Promise.resolve(),
      probe: ({ id }) => {
        begun.push(id)
        if (begun.length === 8) prober.setTargets([...known, added])
        if (begun.length === 21) onAll()
        return Promise.resolve({ type: 'proven' })
      },
    })
    prober.setTargets(known)
    await ended
    await prober.close()
    expect(begun.indexOf('added')).toBeLessThan(12)
    expect(begun).toHaveLength(21)
  })

  let onAll: () => void = () => undefined

  /** Waits until the target is probed anew, and its result is known. */
  const sweep = async (prober: Prober): Promise<void> => {
    const ended = new Promise<void>((resolve) => (onAll = resolve))
    prober.setTargets([targetAt(1)])
    await ended
  }

  async function swept(result: () => ProbeResult, now = () => 0): Promise<Prober> {
    const prober = new Prober({
      now,
      onWarning: () => undefined,
      onChange: () => undefined,
      wait: () => Promise.resolve(),
      probe: async () => {
        const found = await Promise.resolve(result())
        setImmediate(() => onAll())
        return found
      },
    })
    await sweep(prober)
    return prober
  }
})
