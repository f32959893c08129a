// Stores the identity provider's sessions, codes and clients in memory.

import type { Adapter, AdapterPayload } from 'oidc-provider'

/** Returns a factory for the adapters of one provider. oidc-provider creates one per model; all share one map. */
export function memoryAdapters(): (model: string) => Adapter {
  const stored = new Map<string, AdapterPayload>()
  return (model) => new MemoryAdapter(model, stored)
}

class MemoryAdapter implements Adapter {
  constructor(
    private readonly model: string,
    private readonly stored: Map<string, AdapterPayload>,
  ) {}

  upsert(id: string, payload: AdapterPayload): Promise<undefined> {
    this.stored.set(this.key(id), payload)
    return Promise.resolve(undefined)
  }

  find(id: string): Promise<AdapterPayload | undefined> {
    return Promise.resolve(this.stored.get(this.key(id)))
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.findBy((payload) => payload.uid === uid)
  }

  findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.findBy((payload) => payload.userCode === userCode)
  }

  consume(id: string): Promise<undefined> {
    const payload = this.stored.get(this.key(id))
    if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000)
    return Promise.resolve(undefined)
  }

  destroy(id: string): Promise<undefined> {
    this.stored.delete(this.key(id))
    return Promise.resolve(undefined)
  }

  revokeByGrantId(grantId: string): Promise<undefined> {
    for (const [key, payload] of this.stored) {
      if (payload.grantId === grantId) this.stored.delete(key)
    }
    return Promise.resolve(undefined)
  }

  private key(id: string): string {
    return `${this.model}:${id}`
  }

  private findBy(
    matches: (payload: AdapterPayload) => boolean,
  ): Promise<AdapterPayload | undefined> {
    for (const [key, payload] of this.stored) {
      if (key.startsWith(`${this.model}:`) && matches(payload)) return Promise.resolve(payload)
    }
    return Promise.resolve(undefined)
  }
}
