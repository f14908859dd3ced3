// An authorization server as people run them: oidc-provider, which is certified for OpenID Connect. It listens on the port
// in PORT, keeps everything in memory, and lets everybody in as "alice", without a question. ISSUER_PATH is the path of the
// issuer, and DISCOVERY the only one at which its metadata is, when they are set. What a person would do otherwise, and what an
// operator does, is set at /control, with a JSON object:
//
//	deny      the person says no
//	ttl       how many seconds access tokens are good for
//	nonce     DPoP proofs need a nonce
//	resource  tokens are given for this MCP server alone
//	delete    forget the client of that id, as an operator does who cleans up
//
// GET /control tells what was asked of it: {"authorizations", "registrations", "tokens": {GRANT: number}}.
import { createServer } from 'node:http';

import Provider, { errors } from 'oidc-provider';

const port = Number(process.env.PORT);
const path = process.env.ISSUER_PATH ?? '';
const issuer = `http://127.0.0.1:${port}${path}`;
const settings = { deny: false, ttl: 3600, nonce: false, resource: '' };
const counts = { authorizations: 0, registrations: 0, tokens: {} };

const robot = (id, method, more) => ({
  client_id: id,
  token_endpoint_auth_method: method,
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
  ...more,
});

const scopes = ['mcp:read', 'mcp:write'];
const provider = new Provider(issuer, {
  clients: [
    robot('robot-basic', 'client_secret_basic', { client_secret: process.env.ROBOT_SECRET }),
    robot('robot-post', 'client_secret_post', { client_secret: process.env.ROBOT_SECRET }),
    robot('robot-jwt', 'private_key_jwt', { jwks: JSON.parse(process.env.ROBOT_KEYS ?? '{"keys":[]}') }),
    // With these the MCP server asks whether a token is good.
    robot('resource-server', 'client_secret_post', { client_secret: process.env.RESOURCE_SECRET, grant_types: [] }),
  ].filter((client) => !process.env.CLIENT_AUTH || process.env.CLIENT_AUTH.split(' ').includes(client.token_endpoint_auth_method)),
  scopes,
  ttl: { AccessToken: () => settings.ttl, ClientCredentials: () => settings.ttl, RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 600, IdToken: 600 },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  issueRefreshToken: async (ctx, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: () => true,
  expiresWithSession: async () => false,
  // In place of all the ways in which a client can say who it is.
  ...(process.env.CLIENT_AUTH && { clientAuthMethods: process.env.CLIENT_AUTH.split(' ') }),
  cookies: { keys: ['a key of a test'] },
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    introspection: { enabled: true, allowedPolicy: (ctx, client) => client.clientId === 'resource-server' },
    clientCredentials: { enabled: true },
    dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 1), requireNonce: () => settings.nonce },
    resourceIndicators: {
      enabled: true,
      // Whoever does not say for which server a token is, gets one that is for none, also when it is refreshed.
      getResourceServerInfo: (ctx, resource) => {
        if (resource !== settings.resource) throw new errors.InvalidTarget();
        return { scope: scopes.join(' '), audience: resource, accessTokenTTL: settings.ttl, accessTokenFormat: 'opaque' };
      },
      useGrantedResource: () => false,
    },
  },
});

provider.on('authorization.success', () => { counts.authorizations += 1; });
provider.on('registration_create.success', () => { counts.registrations += 1; });
const count = (ctx, outcome) => {
  const grant = `${ctx.oidc.params?.grant_type ?? 'none'}${outcome}`;
  counts.tokens[grant] = (counts.tokens[grant] ?? 0) + 1;
};
provider.on('grant.success', (ctx) => count(ctx, ''));
provider.on('grant.error', (ctx) => count(ctx, ' refused'));
provider.on('server_error', (ctx, err) => console.error(err));

// interact is the page of the authorization server at which a person logs in and says yes.
const interact = async (req, res) => {
  const { prompt, params, session, grantId } = await provider.interactionDetails(req, res);
  if (settings.deny) {
    await provider.interactionFinished(req, res, { error: 'access_denied', error_description: 'The person has said no' });
    return;
  }
  if (prompt.name === 'login') {
    await provider.interactionFinished(req, res, { login: { accountId: 'alice' } });
    return;
  }
  const grant = grantId ? await provider.Grant.find(grantId) : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  if (prompt.details.missingOIDCScope) grant.addOIDCScope(prompt.details.missingOIDCScope.join(' '));
  for (const [resource, missing] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, missing.join(' '));
  }
  await provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
};

const control = async (req, res) => {
  if (req.method === 'POST') {
    let body = '';
    for await (const chunk of req) body += chunk;
    const { delete: client, ...rest } = JSON.parse(body);
    Object.assign(settings, rest);
    if (client) await provider.Client.adapter.destroy(client);
  }
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify(counts));
};

const answer = provider.callback();
const serve = (req, res) => {
  req.originalUrl = req.url;
  if (process.env.DISCOVERY && req.url.includes('/.well-known/')) {
    if (req.url === process.env.DISCOVERY) req.url = '/.well-known/openid-configuration';
    else req.url = '/nothing';
    req.originalUrl = `${path}${req.url}`;
  } else if (path && req.url.startsWith(`${path}/`)) {
    req.url = req.url.slice(path.length);
  }
  answer(req, res);
};
createServer(async (req, res) => {
  try {
    if (req.url === '/control') await control(req, res);
    else if (req.url.startsWith('/interaction/')) await interact(req, res);
    else serve(req, res);
  } catch (err) {
    console.error(err);
    res.writeHead(500).end();
  }
}).listen(port, '127.0.0.1');
