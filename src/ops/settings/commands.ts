// Names, help texts and examples of the commands.

/** First argument of the command line. */
export type CommandName =
  'run' | 'serve' | 'demo' | 'check' | 'explain' | 'translate' | 'bootstrap' | 'crds' | 'schema'

/** Help texts of a command. */
export interface CommandText {
  /** Line in the list of commands. */
  readonly summary: string
  /** Operands in the usage line, optional ones in brackets; absent: the command takes only flags. */
  readonly operands?: string
  readonly about: string
  readonly examples: readonly string[]
}

/** The table of commands, in the order of help. */
export const COMMANDS: Readonly<Record<CommandName, CommandText>> = {
  run: {
    summary: 'Gatehouse and an Envoy of its own, wired together: the single-machine way',
    about: `Reads the resources, starts Envoy and configures it, and keeps both in step with the files.
Envoy reaches Gatehouse over a Unix socket in a private folder, so --grpc is bound only if you
give it (for a second Envoy, say). Envoy is found by --envoy, ENVOY_PATH or PATH, else installed
once for this user. /readyz on the admin address turns 200 when Envoy serves the first
configuration. If stdout is a terminal, it shows once what is served, where, and which routes are
open (without colours if NO_COLOR is set). Ctrl-C or SIGTERM drains and stops both.`,
    examples: [
      'gatehouse run --resources ./gateway',
      'gatehouse run --resources ./gateway --resources ./policies.yaml --listen-address 127.0.0.1',
    ],
  },
  serve: {
    summary: 'Gatehouse alone: Envoy runs elsewhere and gets its configuration from it',
    about: `Serves xDS (ADS), ext_authz, ext_proc and grpc.health.v1 on the gRPC address. Start Envoy with
the bootstrap that "gatehouse bootstrap" prints. On an address that other machines reach, give
--grpc-tls-cert, --grpc-tls-key and --grpc-client-ca: private keys are only sent over a Unix
socket, loopback or a connection with a verified client certificate.`,
    examples: [
      'gatehouse serve --resources ./gateway',
      'gatehouse serve --resources ./gateway --grpc unix:/run/gatehouse/gatehouse.sock',
      'gatehouse serve --kubernetes',
      'gatehouse serve --resources ./mesh --for envoy-gateway --route-key envoy-gateway --closed 0.0.0.0:18009',
    ],
  },
  demo: {
    summary:
      'a whole local stack on loopback: identity provider, MCP server, LLM, webhook, Envoy, Gatehouse',
    about: `Starts an identity provider with a login page, an MCP server, a small LLM server, a guardrail webhook,
Gatehouse and Envoy, takes a short tour (a login and a tool call, then prompts that the webhook masks
and blocks), then stays up and prints what to try. The resources are files in a folder that it names:
an edit is in force at once. Addresses that you leave to the defaults give way where something else
has them, but for the gateway's port. Ctrl-C leaves nothing behind; the exit code is 1 when a step
of the tour failed.`,
    examples: ['gatehouse demo', 'gatehouse demo --port 9090 --no-tour'],
  },
  check: {
    summary: 'validate resources without starting anything',
    operands: 'PATH...',
    about: `Reads files and folders of resources as "run" does and says what is wrong with them, a line each:
FILE:LINE:COLUMN: LEVEL: KIND NAMESPACE/NAME: SENTENCE. An error is what cannot be read, would not
be in force as written, or cannot work. A warning is what is accepted and hardly meant: an open route,
a policy that decides nothing, rules that refuse every MCP client, a claim that is compared with
nothing, a webhook without a deadline. A note is what may be meant. Nothing is fetched without --fetch:
key sets and discovery documents of identity providers are not checked. Exit code 0: there is no error,
and with --strict no warning and no note either; 1: there is something to mend.`,
    examples: ['gatehouse check ./gateway', 'gatehouse check --strict gateway.yaml policy.yaml'],
  },
  explain: {
    summary: 'say how one request is answered, and why',
    about: `Prints which listener, route, policies and rules meet a request, each step of its check with what it
read, the answer that the client gets, and what would change it. The check runs the code of the
server. With --resources it reads files, as "check" does, and takes keys from --jwks or --fetch;
otherwise it asks a running Gatehouse at --admin, which has keys. Nothing is sent to backends or
webhooks. The token is sent to --admin, and is never printed or logged.
Exit code 0: the request is explained, whatever its answer is; 1: it cannot be explained.`,
    examples: [
      'gatehouse explain --resources ./gateway --request "POST https://mcp.example.com/mcp"',
      'gatehouse explain --resources ./gateway --fetch --token token.txt --request "GET https://h.example/mcp"',
      'gatehouse explain --resources ./gateway --jwks keys.json --token - --request "GET https://h.example/mcp"',
      'gatehouse explain --admin 127.0.0.1:18001 --format json --request "GET http://127.0.0.1:8080/"',
    ],
  },
  translate: {
    summary: 'print a static Envoy configuration (YAML)',
    operands: 'PATH...',
    about: `Prints the Envoy configuration that the resources amount to, as one static file: to read, to
compare, or to run an Envoy that takes no xDS. Routes with policies still need Gatehouse (ext_authz
and ext_proc) at --connect. Private keys are part of it. What is wrong with the resources goes to
stderr; a document that cannot be read makes the exit code 1 and prints nothing.
With --for it prints the Kubernetes manifests by which the Envoys of a mesh ask Gatehouse about the
routes that your policies protect, or nothing and exit code 1 where it cannot protect one of them.`,
    examples: [
      'gatehouse translate ./gateway > envoy.yaml',
      'gatehouse translate ./gateway --connect 10.0.0.5:18000',
      'gatehouse translate --for envoy-gateway ./mesh --connect 10.0.0.5:18000 --closed 10.0.0.5:18009',
    ],
  },
  bootstrap: {
    summary: 'print the Envoy bootstrap (YAML) that leads an Envoy to "gatehouse serve"',
    about: `Prints what Envoy needs to start: its node, the clusters for ADS, ext_authz and ext_proc, and its
admin address. All else comes over xDS. With --gateway this Envoy serves one Gateway, else every one.`,
    examples: [
      'gatehouse bootstrap > envoy.yaml && envoy -c envoy.yaml',
      'gatehouse bootstrap --gateway default/mcp --connect gatehouse.internal:18000',
    ],
  },
  crds: {
    summary: 'print the CustomResourceDefinitions (YAML)',
    about: 'Prints the CustomResourceDefinitions of ProxyPolicy, ProxyBackend and ProxyParameters.',
    examples: ['gatehouse crds | kubectl apply --server-side -f -'],
  },
  schema: {
    summary: 'print the JSON Schema of the resources, for editors',
    operands: '[KIND]',
    about: `Prints the JSON Schema (draft 7) of any document that Gatehouse reads, or of one kind. Editors with
YAML support then complete fields, show what each is for, and mark mistakes. The first line of a
YAML file names its schema: # yaml-language-server: $schema=./gatehouse.schema.json`,
    examples: ['gatehouse schema > gatehouse.schema.json', 'gatehouse schema ProxyPolicy'],
  },
}

/** Every command, in the order of help. */
export const commandNames = Object.keys(COMMANDS) as readonly CommandName[]
