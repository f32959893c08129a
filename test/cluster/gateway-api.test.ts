// The official Gateway API conformance suite with the chart and envoys.provision: the Gateways get pods of Envoy.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
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
/** How a test ended, in the log of the suite. */
const OUTCOME = /(?:PASS|FAIL): TestConformance\/[^/\s]+(?= )/g

/** Some tests of features that created Envoys have with TLS alone, or that Envoys of users lack. */
const OF_CREATED_ENVOYS = [
  'GatewayFrontendClientCertificateValidation',
  'GatewayFrontendClientCertificateValidationInsecureFallback',
  'GatewayInfrastructureMetadata',
  'HTTPRouteHTTPSListenerDetectMisdirectedRequests',
]

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

test(
  'every test of core and of the claimed features passes with real pods',
  {
    timeout: 3_600_000,
  },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-gateway-api-'))
    const flags = ['-cleanup-base-resources=true']
    const options = { kubeconfig: KUBECONFIG, gatewayClass: 'gatehouse', folder, flags }
    const { core, extended } = await runSuite(options)
    const failed = [...(core.failedTests ?? []), ...(extended?.failedTests ?? [])]
    expect({ failed, logs: folder }).toEqual({ failed: [], logs: folder })
    // The report does not count tests of features that belong to no profile.
    const outcomes = readFileSync(join(folder, 'suite.log'), 'utf8').match(OUTCOME)
    expect(outcomes).toEqual(
      expect.arrayContaining(OF_CREATED_ENVOYS.map((name) => `PASS: TestConformance/${name}`)),
    )
    expect(outcomes?.filter((outcome) => outcome.startsWith('FAIL'))).toEqual([])
    rmSync(folder, { recursive: true })
  },
)
