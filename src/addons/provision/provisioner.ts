// Wires the controller of the Envoys that Gatehouse creates: what it reads, what it applies, and where it is stopped.

import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { PipelineState } from '../../control/publish/pipeline.js'
import { resourceKey } from '../../control/schema/decode/resource-set.js'
import { createApplier } from '../../control/sources/kubernetes/applier.js'
import type { KubernetesClient } from '../../control/sources/kubernetes/client.js'
import { leaseOf, releaseLabel } from '../../control/sources/kubernetes/lease-of.js'
import { startMirror } from '../../control/sources/kubernetes/mirror.js'
import { ObjectKeeper, type WantedObjects } from '../../control/sources/kubernetes/object-keeper.js'
import type { KubernetesProvider } from '../../control/sources/kubernetes/provider.js'
import { reviewToken } from '../../control/sources/kubernetes/token-review.js'
import { withoutContent } from '../../control/sources/kubernetes/wanted-object.js'
import { errorText } from '../../kit/errors.js'
import { memo } from '../../kit/incremental/memo.js'
import { certificatesIn } from '../../kit/pem.js'
import type { JsonObject } from '../../model/json.js'
import type { ProvisionedGateway } from '../../model/provisioned-gateway.js'
import type { GatewayName } from '../../model/status.js'
import type { Settings } from '../../ops/settings/settings.js'
import { EnvoyTokens } from './envoy-tokens.js'
import { envoyManifests, type EnvoySettings, PROVISIONED_KINDS } from './manifests.js'
import {
  type ProvisionInput,
  type ProvisionProblem,
  provisionProblem,
  wantedEnvoys,
} from './wanted-envoys.js'

/** The running controller of the Envoys. */
export interface Provisioner {
  onRun(state: PipelineState): void
  /** Looks at everything again: this replica may have gained the right to write. */
  look(): void
  /** Returns why the Envoys of a Gateway do not serve it; undefined: they do, or Gatehouse does not create them. */
  problemOf(gateway: GatewayName): ProvisionProblem | undefined
  /** Knows the Envoys by their tokens; absent: they connect without TLS, and nobody knows them. */
  readonly tokens?: EnvoyTokens
  close(): Promise<void>
}

/** The parts of the cluster that the provisioner needs. */
export interface ProvisionerDeps {
  readonly client: KubernetesClient
  readonly source: Pick<KubernetesProvider, 'raw'>
  readonly mayWrite: () => boolean
  /** Called when a result of problemOf() may have changed. */
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
}

/** Returns undefined without --provision. */
export function startProvisioner(
  settings: Settings,
  { client, source, mayWrite, onChange, onWarning }: ProvisionerDeps,
): Provisioner | undefined {
  if (!settings.provision) return undefined
  const kinds = PROVISIONED_KINDS
  const label = [`${settings.apiGroup}/provisioned-by`, releaseLabel(settings)] as const
  const mirror = startMirror(client, mirrored(label), settings.namespace, () => keeper.look())
  let input: ProvisionInput | undefined
  const authorities = authoritiesOf(settings, {
    onWarning,
    onChange: () => {
      manifestsOf = manifestsWith(settings, authorities)
      if (input !== undefined) keeper.update(input)
    },
  })
  let manifestsOf = manifestsWith(settings, authorities)
  let gateways = new Map<string, ProvisionedGateway>()
  let accounts: ReadonlyMap<string, string> | undefined
  let problems: ReadonlyMap<string, string> = new Map()
  const keeper = new ObjectKeeper<ProvisionInput, WantedObjects>({
    mirror,
    kinds,
    label,
    mayWrite,
    onWarning,
    mirrorsOwnOnly: true,
    subject: 'the Envoys of Gateways',
    applier: createApplier(client, kinds),
    wantedWork: (wanted) => wantedEnvoys(wanted, (gateway) => manifestsOf(gateway)),
    gatewayOf: (gateway) => source.raw(keyOfGateway(gateway)),
    onRound: (round) => {
      problems = round.problems
      onChange()
    },
  })
  const tokens = tokensOf(settings, { client, onWarning, accounts: () => accounts })
  return {
    ...(tokens && { tokens }),
    problemOf: (named) => {
      const gateway = gateways.get(keyOfGateway(named))
      const sources = { objectOf: (key: string) => mirror.get(key), problems }
      return gateway && provisionProblem(gateway, { ...sources, obstacles: mirror.obstacles() })
    },
    onRun: ({ provider, translation, failure }) => {
      const all = translation?.provisioned
      if (provider?.complete !== true || all === undefined || failure !== undefined) return
      gateways = new Map(all.map((each) => [keyOfGateway(each), each] as const))
      accounts = accountsOf(all)
      input = { gateways: all, isWhole: knowsGateways(provider.problems) }
      keeper.update(input)
    },
    look: () => keeper.look(),
    close: async () => {
      authorities?.close()
      mirror.close()
      await keeper.close()
    },
  }
}

/** Returns the provisioned kinds as they are mirrored: the objects with a label, without their content. */
const mirrored = (label: readonly [string, string]) =>
  PROVISIONED_KINDS.map((kind) => ({
    ...kind,
    labelSelector: label.join('='),
    keep: (object: JsonObject) => withoutContent(object, label),
  }))

const keyOfGateway = ({ namespace, name }: GatewayName): string =>
  resourceKey('Gateway', namespace, name)

/** Kinds whose problems may hide a Gateway; "": the kind is not known. */
const ABOUT_GATEWAYS: ReadonlySet<string> = new Set(['Gateway', 'GatewayClass', ''])

const knowsGateways = (problems: readonly { readonly kind?: string }[]): boolean =>
  problems.every(({ kind = '' }) => !ABOUT_GATEWAYS.has(kind))

/** Returns the Gateways (NAMESPACE/NAME) by the service accounts of their Envoys. */
const accountsOf = (gateways: readonly ProvisionedGateway[]): ReadonlyMap<string, string> =>
  new Map(
    gateways.map(({ namespace, name, objectName }) => [
      `${namespace}/${objectName}`,
      `${namespace}/${name}`,
    ]),
  )

type FollowDeps = Pick<ProvisionerDeps, 'onWarning' | 'onChange'>

/** Returns undefined without TLS. */
const authoritiesOf = (
  { connectCa }: Settings,
  deps: FollowDeps,
): ConnectAuthorities | undefined =>
  connectCa === undefined ? undefined : followAuthorities(connectCa, deps)

/** Returns the function that makes the objects of a Gateway. */
function manifestsWith(settings: Settings, authorities: ConnectAuthorities | undefined) {
  const envoys = envoySettings(settings, authorities)
  return memo((gateway: ProvisionedGateway) => envoyManifests(gateway, envoys))
}

function envoySettings(
  { connect, connectTls, environment }: Settings,
  authorities: ConnectAuthorities | undefined,
): EnvoySettings {
  // --provision needs --connect (settings/provision-checks.ts).
  if (connect === undefined) throw new Error('--provision needs --connect')
  const { name: release } = leaseOf(environment)
  const tls = connectTls !== undefined &&
    authorities !== undefined && { authorities: authorities.current(), serverName: connectTls }
  return { address: connect, release, ...(tls && { tls }) }
}

interface TokensDeps extends Pick<ProvisionerDeps, 'client' | 'onWarning'> {
  readonly accounts: () => ReadonlyMap<string, string> | undefined
}

/** Returns undefined without TLS: a token would be read by whoever listens. */
function tokensOf(
  { connectTls: audience }: Settings,
  { client, onWarning, accounts }: TokensDeps,
): EnvoyTokens | undefined {
  if (audience === undefined) return undefined
  return new EnvoyTokens({
    audience,
    review: (token) => reviewToken(client, token, audience),
    gatewayOf: () => {
      const known = accounts()
      return known && ((account) => known.get(account))
    },
    now: () => Date.now(),
    onWarning,
  })
}

// Follows the file of --connect-ca: the authorities by which created Envoys check Gatehouse's certificate.

/** The authorities as last read. */
interface ConnectAuthorities {
  /** PEM. */
  current(): string
  close(): void
}

/** What following the file needs. */
export interface FollowAuthoritiesDeps {
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
  /** How often the file is read again, in milliseconds; default 10,000. */
  readonly rereadMs?: number
}

const REREAD_MS = 10_000

/**
 * Reads the file now and at intervals. While it is unusable, the last good authorities stay in use and a warning says so.
 * @throws {Error} for a person when the file cannot be used at the start.
 */
export function followAuthorities(
  file: string,
  { onChange, onWarning, rereadMs = REREAD_MS }: FollowAuthoritiesDeps,
): ConnectAuthorities {
  let current = usable(file, () => readFileSync(file, 'utf8'))
  const reread = async (): Promise<void> => {
    try {
      const text = await readFile(file, 'utf8')
      const next = usable(file, () => text)
      if (next === current) return
      current = next
      onChange()
    } catch (error) {
      onWarning(`${errorText(error)}; the previous authorities stay in use`)
    }
  }
  let reading: Promise<void> | undefined
  const timer = setInterval(() => {
    reading ??= reread().finally(() => (reading = undefined))
  }, rereadMs)
  timer.unref()
  return { current: () => current, close: () => clearInterval(timer) }
}

function usable(file: string, read: () => string): string {
  try {
    const text = read()
    certificatesIn(text)
    return text
  } catch (error) {
    throw new Error(`--connect-ca ${file} is not a certificate in PEM: ${errorText(error)}`, {
      cause: error,
    })
  }
}
