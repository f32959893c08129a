// A registry of all messages generated from proto/.

import type { DescFile, Registry } from '@bufbuild/protobuf'
import { createRegistry } from '@bufbuild/protobuf'
import * as wkt from '@bufbuild/protobuf/wkt'
import { file_envoy_config_bootstrap_v3_bootstrap } from './generated/envoy/config/bootstrap/v3/bootstrap_pb.js'
import { file_envoy_config_route_v3_route } from './generated/envoy/config/route/v3/route_pb.js'
import { file_envoy_config_trace_v3_opentelemetry } from './generated/envoy/config/trace/v3/opentelemetry_pb.js'
import { file_envoy_extensions_access_loggers_file_v3_file } from './generated/envoy/extensions/access_loggers/file/v3/file_pb.js'
import { file_envoy_extensions_access_loggers_filters_cel_v3_cel } from './generated/envoy/extensions/access_loggers/filters/cel/v3/cel_pb.js'
import { file_envoy_extensions_access_loggers_stream_v3_stream } from './generated/envoy/extensions/access_loggers/stream/v3/stream_pb.js'
import { file_envoy_extensions_filters_http_cors_v3_cors } from './generated/envoy/extensions/filters/http/cors/v3/cors_pb.js'
import { file_envoy_extensions_filters_http_credential_injector_v3_credential_injector } from './generated/envoy/extensions/filters/http/credential_injector/v3/credential_injector_pb.js'
import { file_envoy_extensions_filters_http_ext_authz_v3_ext_authz } from './generated/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb.js'
import { file_envoy_extensions_filters_http_ext_proc_v3_ext_proc } from './generated/envoy/extensions/filters/http/ext_proc/v3/ext_proc_pb.js'
import { file_envoy_extensions_filters_http_header_mutation_v3_header_mutation } from './generated/envoy/extensions/filters/http/header_mutation/v3/header_mutation_pb.js'
import { file_envoy_extensions_filters_http_jwt_authn_v3_config } from './generated/envoy/extensions/filters/http/jwt_authn/v3/config_pb.js'
import { file_envoy_extensions_filters_http_local_ratelimit_v3_local_rate_limit } from './generated/envoy/extensions/filters/http/local_ratelimit/v3/local_rate_limit_pb.js'
import { file_envoy_extensions_filters_http_rbac_v3_rbac } from './generated/envoy/extensions/filters/http/rbac/v3/rbac_pb.js'
import { file_envoy_extensions_filters_http_router_v3_router } from './generated/envoy/extensions/filters/http/router/v3/router_pb.js'
import { file_envoy_extensions_filters_http_upstream_codec_v3_upstream_codec } from './generated/envoy/extensions/filters/http/upstream_codec/v3/upstream_codec_pb.js'
import { file_envoy_extensions_filters_listener_tls_inspector_v3_tls_inspector } from './generated/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector_pb.js'
import { file_envoy_extensions_filters_network_http_connection_manager_v3_http_connection_manager } from './generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { file_envoy_extensions_http_early_header_mutation_header_mutation_v3_header_mutation } from './generated/envoy/extensions/http/early_header_mutation/header_mutation/v3/header_mutation_pb.js'
import { file_envoy_extensions_http_injected_credentials_generic_v3_generic } from './generated/envoy/extensions/http/injected_credentials/generic/v3/generic_pb.js'
import { file_envoy_extensions_network_dns_resolver_cares_v3_cares_dns_resolver } from './generated/envoy/extensions/network/dns_resolver/cares/v3/cares_dns_resolver_pb.js'
import { file_envoy_extensions_network_dns_resolver_getaddrinfo_v3_getaddrinfo_dns_resolver } from './generated/envoy/extensions/network/dns_resolver/getaddrinfo/v3/getaddrinfo_dns_resolver_pb.js'
import { file_envoy_extensions_resource_monitors_downstream_connections_v3_downstream_connections } from './generated/envoy/extensions/resource_monitors/downstream_connections/v3/downstream_connections_pb.js'
import { file_envoy_extensions_retry_host_previous_hosts_v3_previous_hosts } from './generated/envoy/extensions/retry/host/previous_hosts/v3/previous_hosts_pb.js'
import { file_envoy_extensions_transport_sockets_tls_v3_tls } from './generated/envoy/extensions/transport_sockets/tls/v3/tls_pb.js'
import { file_envoy_extensions_upstreams_http_v3_http_protocol_options } from './generated/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js'
import { Authorization } from './generated/envoy/service/auth/v3/external_auth_pb.js'
import { AggregatedDiscoveryService } from './generated/envoy/service/discovery/v3/ads_pb.js'
import { ExternalProcessor } from './generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { Health } from './generated/grpc/health/v1/health_pb.js'

/** Files that no other file imports, and the well-known types; all others are reached through their imports. */
const ROOTS: readonly DescFile[] = [
  file_envoy_config_bootstrap_v3_bootstrap,
  file_envoy_config_route_v3_route,
  file_envoy_config_trace_v3_opentelemetry,
  file_envoy_extensions_access_loggers_file_v3_file,
  file_envoy_extensions_access_loggers_filters_cel_v3_cel,
  file_envoy_extensions_access_loggers_stream_v3_stream,
  file_envoy_extensions_filters_http_cors_v3_cors,
  file_envoy_extensions_filters_http_credential_injector_v3_credential_injector,
  file_envoy_extensions_filters_http_ext_authz_v3_ext_authz,
  file_envoy_extensions_filters_http_ext_proc_v3_ext_proc,
  file_envoy_extensions_filters_http_header_mutation_v3_header_mutation,
  file_envoy_extensions_filters_http_jwt_authn_v3_config,
  file_envoy_extensions_filters_http_local_ratelimit_v3_local_rate_limit,
  file_envoy_extensions_filters_http_rbac_v3_rbac,
  file_envoy_extensions_filters_http_router_v3_router,
  file_envoy_extensions_filters_http_upstream_codec_v3_upstream_codec,
  file_envoy_extensions_filters_listener_tls_inspector_v3_tls_inspector,
  file_envoy_extensions_filters_network_http_connection_manager_v3_http_connection_manager,
  file_envoy_extensions_http_early_header_mutation_header_mutation_v3_header_mutation,
  file_envoy_extensions_http_injected_credentials_generic_v3_generic,
  file_envoy_extensions_network_dns_resolver_cares_v3_cares_dns_resolver,
  file_envoy_extensions_network_dns_resolver_getaddrinfo_v3_getaddrinfo_dns_resolver,
  file_envoy_extensions_resource_monitors_downstream_connections_v3_downstream_connections,
  file_envoy_extensions_retry_host_previous_hosts_v3_previous_hosts,
  file_envoy_extensions_transport_sockets_tls_v3_tls,
  file_envoy_extensions_upstreams_http_v3_http_protocol_options,
  Authorization.file,
  AggregatedDiscoveryService.file,
  ExternalProcessor.file,
  Health.file,
  wkt.file_google_protobuf_any,
  wkt.file_google_protobuf_duration,
  wkt.file_google_protobuf_empty,
  wkt.file_google_protobuf_struct,
  wkt.file_google_protobuf_timestamp,
  wkt.file_google_protobuf_wrappers,
]

function withImports(files: readonly DescFile[], seen = new Set<DescFile>()): Set<DescFile> {
  for (const file of files) {
    if (seen.has(file)) continue
    seen.add(file)
    withImports(file.dependencies, seen)
  }
  return seen
}

/** Every message of proto/ and the well-known types, which an Any may hold. */
export const registry: Registry = createRegistry(...withImports(ROOTS))
