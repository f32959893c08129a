// A reflector that has ended does not report a list that arrives late.

import type { Watch } from '@kubernetes/client-node'
import { expect, test, vi } from 'vitest'
import type { JsonObject } from '../../../src/ir/json.js'
import { kindsOf } from '../../../src/resources/kinds/kinds.js'
import type { KubernetesClient } from '../../../src/resources/kubernetes/client.js'
import { startReflector } from '../../../src/resources/kubernetes/reflector.js'
import { eventually } from '../../../testing/eventually.js'

test('a list that arrives after the end is ignored: nothing would remove the Secret again', async () => {
  const kind = kindsOf('policy.gatehouse.dev').find((each) => each.kind === 'Secret')
  if (kind === undefined) throw new Error('there is no kind Secret')
  let answer: (list: JsonObject) => void = () => undefined
  const asked = vi.fn<KubernetesClient['call']>((_, path) =>
    path.includes('/secrets')
      ? new Promise((resolve) => (answer = resolve))
      : Promise.resolve({ resources: [{ name: 'secrets', kind: 'Secret' }] }),
  )
  const watch = vi.fn<Watch['watch']>(() => Promise.resolve(new AbortController()))
  const client = { call: asked, watch: { watch } as unknown as Watch, server: '' }
  const put = vi.fn()
  const scope = { kind, namespace: 'shop', name: 'certificate', isOptional: true } as const
  const reflector = startReflector(client, scope, {
    put,
    remove: () => undefined,
    changed: () => undefined,
  })
  await eventually(() => expect(asked).toHaveBeenCalledTimes(2))
  reflector.close()
  answer({
    items: [{ metadata: { namespace: 'shop', name: 'certificate' } }],
    metadata: { resourceVersion: '1' },
  })
  await eventually(() => expect(watch).toHaveBeenCalled())
  expect(put).not.toHaveBeenCalled()
})
