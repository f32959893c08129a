// What is recorded of each Envoy: what it was sent, has ACKed and has NACKed.

import { describe, expect, test } from 'vitest'
import { Envoys } from '../../../src/control/publish/envoys.js'
import { CLUSTER_TYPE, LISTENER_TYPE } from '../../../src/xds/encode/type-urls.js'

const peer = (stream: number, node = 'e1') => ({ stream, node, cluster: '*' })

describe('an Envoy has accepted', () => {
  test('when it has its listeners and nothing that it was sent is open', () => {
    const envoys = new Envoys()
    envoys.sent(peer(1), CLUSTER_TYPE, 'c1')
    envoys.acked(peer(1), CLUSTER_TYPE, 'c1', true)
    expect(envoys.hasAccepted('e1')).toBe(false)
    envoys.sent(peer(1), LISTENER_TYPE, 'l1')
    expect(envoys.hasAccepted('e1')).toBe(false)
    envoys.acked(peer(1), LISTENER_TYPE, 'l1', true)
    expect(envoys.hasAccepted('e1')).toBe(true)
    expect(envoys.hasAccepted('e2')).toBe(false)
  })

  test('not what it refused, and not any more when it is gone', () => {
    const envoys = new Envoys()
    envoys.sent(peer(1), LISTENER_TYPE, 'l1')
    envoys.nacked(peer(1), LISTENER_TYPE, { version: 'l1', message: 'bad', at: 'now' })
    expect(envoys.hasAccepted('e1')).toBe(false)
    envoys.sent(peer(1), LISTENER_TYPE, 'l2')
    envoys.acked(peer(1), LISTENER_TYPE, 'l2', true)
    expect(envoys.hasAccepted('e1')).toBe(true)
    envoys.closed(peer(1))
    expect(envoys.hasAccepted('e1')).toBe(false)
  })
})

describe('the report', () => {
  test('shows a refusal until nothing of the type is refused', () => {
    const envoys = new Envoys()
    const nacked = { version: 'l1', message: 'bad regex', at: '2026-01-01T00:00:00.000Z' }
    envoys.sent(peer(1), LISTENER_TYPE, 'l1')
    envoys.nacked(peer(1), LISTENER_TYPE, nacked)
    expect(envoys.report()[0]?.types).toEqual([{ type: LISTENER_TYPE, sent: 'l1', nacked }])
    envoys.acked(peer(1), LISTENER_TYPE, 'l1', false)
    expect(envoys.report()[0]?.types).toEqual([
      { type: LISTENER_TYPE, sent: 'l1', acked: 'l1', nacked },
    ])
    expect(envoys.hasAccepted('e1')).toBe(false)
    envoys.sent(peer(1), LISTENER_TYPE, 'l2')
    envoys.acked(peer(1), LISTENER_TYPE, 'l2', true)
    expect(envoys.report()[0]?.types).toEqual([{ type: LISTENER_TYPE, sent: 'l2', acked: 'l2' }])
  })

  test('has one line for an Envoy that came back, and one for one that is gone', () => {
    const envoys = new Envoys()
    envoys.sent(peer(1), LISTENER_TYPE, 'old')
    envoys.closed(peer(1))
    envoys.sent(peer(2), LISTENER_TYPE, 'new')
    envoys.sent(peer(3, 'e0'), LISTENER_TYPE, 'x')
    envoys.closed(peer(3, 'e0'))
    expect(
      envoys.report().map(({ node, connected, types }) => [node, connected, types[0]?.sent]),
    ).toEqual([
      ['e0', false, 'x'],
      ['e1', true, 'new'],
    ])
  })

  test('has a line for each of two Envoys that call themselves the same', () => {
    const envoys = new Envoys()
    envoys.sent(peer(1), LISTENER_TYPE, 'a')
    envoys.sent(peer(2), LISTENER_TYPE, 'a')
    expect(envoys.report()).toHaveLength(2)
  })

  test('does not grow with every Envoy that ever was', () => {
    const envoys = new Envoys()
    for (let stream = 0; stream < 100; stream++) {
      envoys.sent(peer(stream, `e${stream}`), LISTENER_TYPE, 'a')
      envoys.closed(peer(stream, `e${stream}`))
    }
    expect(envoys.report().length).toBeLessThanOrEqual(16)
  })
})
