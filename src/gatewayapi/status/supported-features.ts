// The features of the Gateway API that Gatehouse supports, for the status of GatewayClasses.

/**
 * Names of the features, sorted. Each is here because the official conformance suite passes with it
 * (npm run test:gateway-api).
 */
export const SUPPORTED_FEATURES: readonly string[] = [
  'BackendTLSPolicy',
  'BackendTLSPolicySANValidation',
  'Gateway',
  'GatewayAddressEmpty',
  'GatewayBackendClientCertificate',
  'GatewayFrontendClientCertificateValidation',
  'GatewayFrontendClientCertificateValidationInsecureFallback',
  'GatewayHTTPListenerIsolation',
  'GatewayHTTPSListenerDetectMisdirectedRequests',
  'GatewayPort8080',
  'GatewayStaticAddresses',
  'HTTPRoute',
  'HTTPRoute303RedirectStatusCode',
  'HTTPRoute307RedirectStatusCode',
  'HTTPRoute308RedirectStatusCode',
  'HTTPRouteBackendProtocolH2C',
  'HTTPRouteBackendProtocolWebSocket',
  'HTTPRouteBackendRequestHeaderModification',
  'HTTPRouteBackendTimeout',
  'HTTPRouteCORS',
  'HTTPRouteDestinationPortMatching',
  'HTTPRouteHostRewrite',
  'HTTPRouteMethodMatching',
  'HTTPRouteNamedRouteRule',
  'HTTPRouteParentRefPort',
  'HTTPRoutePathRedirect',
  'HTTPRoutePathRewrite',
  'HTTPRoutePortRedirect',
  'HTTPRouteQueryParamMatching',
  'HTTPRouteRequestMirror',
  'HTTPRouteRequestMultipleMirrors',
  'HTTPRouteRequestPercentageMirror',
  'HTTPRouteRequestTimeout',
  'HTTPRouteResponseHeaderModification',
  'HTTPRouteRetry',
  'HTTPRouteRetryBackendTimeout',
  'HTTPRouteRetryConnectionError',
  'HTTPRouteSchemeRedirect',
  'ListenerSet',
  'ReferenceGrant',
]

/** Features that the Envoys which Gatehouse creates lack: they serve HTTPS only with TLS, and have the addresses that their Service gets. */
const NOT_PROVISIONED: ReadonlySet<string> = new Set([
  'GatewayFrontendClientCertificateValidation',
  'GatewayFrontendClientCertificateValidationInsecureFallback',
  'GatewayHTTPSListenerDetectMisdirectedRequests',
  'GatewayStaticAddresses',
])

/** Names of the features, sorted, if Gatehouse creates the Envoys: `spec.infrastructure` is then in force. */
export const PROVISION_FEATURES: readonly string[] = [
  ...SUPPORTED_FEATURES.filter((feature) => !NOT_PROVISIONED.has(feature)),
  'GatewayInfrastructure',
].sort()
