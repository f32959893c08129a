// A shop behind the Gateway default/gw, with a policy that allows only GET.

import { expect } from 'vitest'
import { eventually } from '../../../testing/eventually.js'
import { policy } from '../../kubernetes/support/objects.js'
import { gateway, httpRoute } from '../../support/resources.js'
import { app } from './app.js'
import { api } from './cluster.js'

export const deployShop = (): Promise<void> =>
  api.apply(
    ...app('shop'),
    gateway([80]),
    httpRoute('shop', { rules: [{ backendRefs: [{ name: 'shop', port: 80 }] }] }),
    policy(
      'only-get',
      { authorization: { policy: { matchExpressions: ['request.method == "GET"'] } } },
      'shop',
    ),
  )

/** Resolves when the Gateway at the URL leads to the shop; rejects if its policy is not in force. */
export async function expectShop(url: string): Promise<void> {
  await eventually(async () => {
    const reply = await fetch(url)
    expect(reply.status).toBe(200)
    expect(await reply.json()).toMatchObject({ app: 'shop' })
  }, 60_000)
  expect((await fetch(url, { method: 'POST' })).status).toBe(403)
}
