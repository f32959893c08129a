// What this replica may write: for its release while it holds the Lease that the replicas share, and statuses only where
// no other release writes them.

import type { Logger } from '../../logger.js'
import {
  type ClaimScope,
  isAllWrittenAhead,
  type ReleasesAhead,
} from '../../resources/kubernetes/claim-order.js'
import type { KubernetesClient } from '../../resources/kubernetes/client.js'
import { type Lease, startLease } from '../../resources/kubernetes/lease.js'
import { startStatusClaim } from '../../resources/kubernetes/status-claim.js'
import type { Settings } from '../../settings.js'
import { claimScopeOf, leaseOf, statusLeaseOf } from './lease-of.js'

/** What createWriteRight needs. */
export interface WriteRightDeps {
  readonly client: KubernetesClient
  readonly logger: Logger
  /** Called when the Lease of the replicas was won or lost. */
  onHeld(): void
  /** Called when this replica may write the statuses of more or fewer objects than before. */
  onStatuses(): void
  /** Logs a sentence. */
  onWarning(message: string): void
}

/** The right to write. */
export interface WriteRight {
  start(): void
  /** Whether this replica applies what its release applies. */
  isHeld(): boolean
  /** Whether this replica writes the status of an object of this kind in this namespace ('': in none). */
  mayWriteStatus(kind: string, namespace: string): boolean
  /** Gives up the right at once, before it is left to others. */
  drop(): void
  /** Leaves the right to others. */
  close(): Promise<void>
}

/** Creates the right, which nobody has before start(). */
export function createWriteRight(settings: Settings, deps: WriteRightDeps): WriteRight {
  const { client, logger } = deps
  const onWarning = (message: string): void => deps.onWarning(message)
  const own = statusLeaseOf(settings)
  const { identity } = own
  const scope = claimScopeOf(settings)
  let isHeld = false
  const claim = startStatusClaim({
    ...{ client, identity, scope, onWarning, release: leaseOf(settings.environment) },
    onChange: (ahead) => {
      if (ahead !== undefined) logger.info(fieldsOf(identity, ahead), verdictOf(scope, ahead))
      deps.onStatuses()
    },
  })
  const onChange = (held: boolean): void => {
    isHeld = held
    if (!held) logger.info({ identity }, 'this replica does not write status')
    claim.hold(held)
    deps.onHeld()
  }
  let lease: Lease | undefined
  return {
    start: () => {
      lease = startLease({ client, ...own, onChange, onWarning })
    },
    isHeld: () => isHeld,
    mayWriteStatus: (kind, namespace) => isHeld && claim.covers(kind, namespace),
    drop: () => {
      isHeld = false
    },
    close: async () => {
      await claim.close()
      await lease?.close()
    },
  }
}

function fieldsOf(identity: string, { ofEnvoys, ofOthers }: ReleasesAhead): object {
  const otherWriters = new Set([...ofEnvoys, ...ofOthers].map(({ release }) => release))
  return { identity, ...(otherWriters.size > 0 && { otherWriters: [...otherWriters] }) }
}

const verdictOf = (scope: ClaimScope, ahead: ReleasesAhead): string =>
  isAllWrittenAhead(scope, ahead)
    ? 'this replica does not write status: another release does'
    : 'this replica writes status'
