// Runs an Envoy on this machine as the pod that Gatehouse describes for a Gateway would: with the files of its ConfigMap and
// a token of its service account.

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type EnvoyChild, startEnvoy } from '../../../src/cli/run-envoy/child.js'
import type { JsonObject } from '../../../src/model/json.js'
import type { ApiClient } from '../../../testing/api-client.js'
import { eventually } from '../../../testing/eventually.js'
import { envoyPath } from '../../support/envoy.js'
import { writeToken } from '../../support/token-folder.js'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** Resolves to a token of a service account for the audience, as the kubelet requests it. */
export async function tokenFor(
  api: ApiClient,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  audience: string,
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
  const { status } = await api.call('POST', path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { audiences: [audience] },
  })
  return (status as { readonly token: string }).token
}

export interface CreatedEnvoyOptions {
  /** The namespace of the Gateway "gw". */
  readonly namespace: string
  readonly audience: string
  /** The folder of its files, which does not exist yet. */
  readonly folder: string
  /** Changes the bootstrap, as whoever may create pods with that token can; absent: it stays as it is. */
  readonly change?: (bootstrap: JsonObject) => JsonObject
}

/** Starts the Envoy. The caller stops it. */
export async function startCreatedEnvoy(
  api: ApiClient,
  { namespace, audience, folder, change = (same) => same }: CreatedEnvoyOptions,
): Promise<EnvoyChild> {
  await mkdir(folder)
  const { data } = await eventually(
    async () =>
      (await api.get('v1', 'ConfigMap', 'gw-gatehouse', namespace)) as unknown as {
        readonly data: Readonly<Record<string, string>>
      },
  )
  const placed = (text = ''): string =>
    text
      .replaceAll('/etc/envoy', folder)
      .replaceAll('/run/gatehouse-token', join(folder, 'run'))
      .replaceAll('/run/envoy', folder)
  await writeFile(join(folder, 'token.yaml'), placed(data['token.yaml']))
  await writeToken(
    join(folder, 'run'),
    await tokenFor(api, { namespace, name: 'gw-gatehouse' }, audience),
  )
  return startEnvoy({
    envoyPath: envoyPath(),
    bootstrap: change(parse(placed(data['bootstrap.yaml'])) as JsonObject),
    logger: quiet,
    concurrency: 1,
  })
}
