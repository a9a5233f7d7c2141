CREATE INDEX orders_by_customer ON orders (customer, placed);
-- Rows were loaded with their numbers; the next order comes after them.
SELECT setval(pg_get_serial_sequence('orders', 'id'), (SELECT MAX(id) FROM orders));
ANALYZE customers, products, orders;
