// Which lookups the system's resolver gets while its answers are slow.

import { expect, test } from 'vitest'
import type { Lookup } from '../../../src/kit/http/connect/resolve.js'
import { sharedLookup } from '../../../src/kit/http/connect/shared-lookup.js'
import { createCallRemote } from '../../../src/kit/http/http-call.js'
import { connectTls } from '../../support/tls.js'

const ADDRESS = [{ address: '127.0.0.1', family: 4 }]

function hanging() {
  const asked: { host: string; answer: () => void; fail: (error: Error) => void }[] = []
  const lookup: Lookup = (host) =>
    new Promise((resolve, fail) => {
      asked.push({ host, answer: () => resolve(ADDRESS), fail })
    })
  return { asked, lookup: sharedLookup(lookup) }
}

test('a name that is asked for again and again is one question, until it is answered', async () => {
  const { asked, lookup } = hanging()
  const both = [lookup('a.example'), lookup('a.example')]
  void lookup('b.example')
  expect(asked.map(({ host }) => host)).toEqual(['a.example', 'b.example'])
  asked[0]?.answer()
  expect(await Promise.all(both)).toEqual([ADDRESS, ADDRESS])
  void lookup('a.example')
  expect(asked).toHaveLength(3)
})

test('so is one that fails, and the next call asks again', async () => {
  const { asked, lookup } = hanging()
  const both = [lookup('a.example'), lookup('a.example')].map((each) =>
    expect(each).rejects.toThrow('no'),
  )
  asked[0]?.fail(new Error('no'))
  await Promise.all(both)
  void lookup('a.example')
  expect(asked).toHaveLength(2)
})

test('calls that time out leave one question behind, not one each', async () => {
  const { asked, lookup } = hanging()
  const call = createCallRemote({ lookup, connectTls })
  const endpoints = { type: 'name', host: 'idp.example', port: 80 } as const
  for (let calls = 0; calls < 3; calls++)
    expect(
      await call({ url: 'http://idp.example/', endpoints }, { method: 'GET', timeoutMs: 10 }),
    ).toEqual({ ok: false, error: { type: 'timeout', timeoutMs: 10 } })
  asked[0]?.fail(new Error('never'))
  expect(asked).toHaveLength(1)
})
