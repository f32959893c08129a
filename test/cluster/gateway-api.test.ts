// The official Gateway API conformance suite with the chart and envoys.provision: the Gateways get pods of Envoy.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { gatewayApiDefinitions } from '../gateway-api/support/definitions.js'
import { runSuite } from '../gateway-api/support/suite.js'
import { inNamespace, tlsSecret } from '../kubernetes/support/objects.js'
import { selfSigned } from '../support/certificates.js'
import { api, install, readyPods, type Release, removeGateways } from './support/cluster.js'
import { KUBECONFIG } from './support/programs.js'

const NAMESPACE = 'conformance'
/** The features that the profile requires. */
const CORE = ['-supported-features', 'Gateway,HTTPRoute,ReferenceGrant']

let release: Release

beforeAll(async () => {
  await removeGateways()
  // The suite creates objects of more kinds than Gatehouse reads.
  await api.apply(...gatewayApiDefinitions())
  const pair = selfSigned(`gatehouse.${NAMESPACE}.svc`)
  const secret = tlsSecret('server', pair) as { readonly stringData: object }
  const stringData = { ...secret.stringData, 'ca.crt': pair.cert }
  await api.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    inNamespace(NAMESPACE, { ...secret, stringData }),
  )
  const resources = { requests: { cpu: '10m', memory: '32Mi' } }
  release = await install(NAMESPACE, {
    envoys: { provision: true, replicas: 1, serviceType: 'ClusterIP' },
    envoy: { resources },
    tls: { secretName: 'server' },
    references: 'all',
  })
  await readyPods(NAMESPACE, 2)
})

afterAll(async () => {
  await removeGateways()
  await release.uninstall()
})

test('every test of core passes with real pods', { timeout: 3_600_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-gateway-api-'))
  const flags = [...CORE, '-cleanup-base-resources=true']
  const options = { kubeconfig: KUBECONFIG, gatewayClass: 'gatehouse', folder, flags }
  const { core } = await runSuite(options)
  expect({ result: core.result, failed: core.failedTests ?? [], logs: folder }).toEqual({
    ...{ result: 'success', failed: [], logs: folder },
  })
  rmSync(folder, { recursive: true })
})
